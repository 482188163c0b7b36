//! A plan as a checklist.

use longshore_model::item::{PlanStatus, PlanStep};

use super::clean::clean;
use super::line::InkLine;
use super::style::{Style, ink};
use super::wrap::text_behind;

/// The whole checklist, under why it changed.
pub(super) fn lines(steps: &[PlanStep], why: &str, style: &Style) -> Vec<InkLine> {
    let signs = style.signs();
    let done = steps.iter().filter(|step| step.status == PlanStatus::Completed).count();
    let mut head = InkLine::of(signs.card, ink::BUSY).with(" Plan", ink::BOLD);
    head.push(&format!("  {done} of {} done", steps.len()), ink::DIM);
    let mut lines = vec![head];
    let indent = InkLine::of("  ", ink::PLAIN);
    lines.extend(text_behind(&clean(why), ink::DIM, style.columns(), &indent, &indent));
    for step in steps {
        let (sign, sign_ink, ink) = match step.status {
            PlanStatus::Pending => (signs.pending, ink::DIM, ink::PLAIN),
            PlanStatus::InProgress => (signs.current, ink::BUSY, ink::BOLD),
            PlanStatus::Completed => (signs.done, ink::GOOD, ink::DIM),
        };
        let first = InkLine::of("  ", ink::PLAIN).with(sign, sign_ink).with(" ", ink::PLAIN);
        let rest = InkLine::of("    ", ink::PLAIN);
        lines.extend(text_behind(&clean(&step.text), ink, style.columns(), &first, &rest));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::line::print;

    #[test]
    fn a_checklist_shows_how_far_it_is() {
        let step = |text: &str, status| PlanStep { text: text.to_owned(), status };
        let steps = [
            step("Read the code", PlanStatus::Completed),
            step("Write the fix for both of them", PlanStatus::InProgress),
            step("Run tests", PlanStatus::Pending),
        ];
        let style = Style { width: 24, ..Style::default() };
        assert_eq!(
            print(&lines(&steps, "Found it.", &style), &style),
            "● Plan  1 of 3 done\n  Found it.\n  ✓ Read the code\n  ▸ Write the fix for\n    both of them\n  ○ Run tests\n"
        );
    }
}
