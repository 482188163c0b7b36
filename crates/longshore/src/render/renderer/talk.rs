//! Messages: growing texts, thoughts, plans, messages of people.

use longshore_model::command::Attachment;
use longshore_model::event::Event;
use longshore_model::item::PlanStep;

use super::Renderer;
use crate::render::clean::clean;
use crate::render::human::elapsed;
use crate::render::line::InkLine;
use crate::render::page::{BlockItem, PageBlock, ProseVoice};
use crate::render::prose::{Prose, Rest};
use crate::render::style::{Show, Style, ink};
use crate::render::wrap::{behind, text_behind};
use crate::render::{fold, lifecycle, plan};

impl Renderer {
    pub(super) fn room(&self, voice: ProseVoice) -> usize {
        match voice {
            ProseVoice::Message | ProseVoice::Plan => self.style.columns(),
            ProseVoice::Thought => self.style.columns() - 2,
        }
    }

    pub(super) fn voiced(&self, voice: ProseVoice, lines: Vec<InkLine>) -> Vec<InkLine> {
        match voice {
            ProseVoice::Message | ProseVoice::Plan => lines,
            ProseVoice::Thought => {
                let bar = InkLine::of(&format!("{} ", self.style.signs().gutter), ink::DIM);
                let dimmed = lines.into_iter().map(|line| line.over(ink::DIM.italic())).collect();
                behind(dimmed, &bar, &bar)
            }
        }
    }

    pub(super) fn prose_of(&mut self, voice: ProseVoice, item: BlockItem) -> usize {
        let at = self.prose.iter().position(|(v, i, _)| (*v, *i) == (voice, item));
        at.unwrap_or_else(|| {
            self.prose.push((voice, item, Prose::default()));
            self.prose.len() - 1
        })
    }

    pub(super) fn begin(&mut self, voice: ProseVoice, item: BlockItem) -> String {
        self.prose_of(voice, item);
        String::new()
    }

    pub(super) fn grow(&mut self, voice: ProseVoice, item: BlockItem, text: &str) -> String {
        let (at, room) = (self.prose_of(voice, item), self.room(voice));
        let lines = self.prose[at].2.push(text, room, &self.style);
        let lines = self.voiced(voice, lines);
        self.put(PageBlock::Prose(voice, item), lines)
    }

    pub(super) fn complete(
        &mut self,
        voice: ProseVoice,
        item: BlockItem,
        whole: &str,
        partial: bool,
    ) -> String {
        let at = self.prose_of(voice, item);
        let (_, _, prose) = self.prose.remove(at);
        let mut printed = match prose.done(whole, self.room(voice), &self.style) {
            Rest::Continues(lines) => {
                let lines = self.voiced(voice, lines);
                self.put(PageBlock::Prose(voice, item), lines)
            }
            Rest::Differs(lines) => {
                let note = lifecycle::remark("parts got lost on the way; here is all of it:", &self.style);
                let mut printed = self.put(PageBlock::Whole, note);
                let lines = self.voiced(voice, lines);
                printed.push_str(&self.put(PageBlock::Prose(voice, item), lines));
                printed
            }
        };
        if partial {
            // Right under it, before what else was said meanwhile.
            let cut = lifecycle::remark("cut off here: the agent did not finish this", &self.style);
            self.by_the_way.splice(0..0, cut);
            printed.push_str(&self.put_by_the_way());
        }
        printed
    }

    pub(super) fn think(&mut self, event: &Event) -> String {
        if !self.thoughts.iter().any(|(item, _)| *item == event.item) {
            self.thoughts.push((event.item, event.at));
        }
        String::new()
    }

    pub(super) fn thought(&mut self, event: &Event, partial: bool) -> String {
        let at = self.thoughts.iter().position(|(item, _)| *item == event.item);
        let since = at.map(|at| self.thoughts.remove(at).1);
        match self.style.reasoning {
            Show::Hidden => String::new(),
            Show::Full => self.complete(ProseVoice::Thought, event.item, event.text(), partial),
            Show::Folded => {
                let gist = gist(event.text());
                let took = since.map(|since| event.at.millis_since(since)).filter(|took| *took >= 1_000);
                let took = took.map(|took| format!(" for {}", elapsed(took))).unwrap_or_default();
                if gist.is_empty() {
                    return String::new();
                }
                let line = InkLine::of(&format!("{} thought{took}: ", self.style.signs().dot), ink::DIM);
                let line = line.with(&gist, ink::DIM.italic());
                let line = line.cut(self.style.columns(), self.style.signs().more);
                self.put(PageBlock::Remark, vec![line])
            }
        }
    }

    /// A checklist is printed when it reads differently than before.
    pub(super) fn plan(&mut self, item: BlockItem, steps: &[PlanStep], text: &str) -> String {
        // Written out while it grew, the text is the plan itself and no reason for it.
        let written = self.prose.iter().any(|(voice, of, _)| (*voice, *of) == (ProseVoice::Plan, item));
        let mut printed =
            if written { self.complete(ProseVoice::Plan, item, text, false) } else { String::new() };
        if self.plan != steps {
            self.plan = steps.to_vec();
            let lines = plan::lines(steps, if written { "" } else { text }, &self.style);
            printed.push_str(&self.put(PageBlock::Whole, lines));
        }
        printed
    }
}

pub(super) fn user_message(
    text: &str,
    attachments: &[Attachment],
    by: Option<&str>,
    style: &Style,
) -> Vec<InkLine> {
    let first = InkLine::of("> ", ink::PERSON);
    let rest = InkLine::of("  ", ink::PLAIN);
    let folded = fold::folded(text);
    let mut lines = text_behind(&clean(folded.first), ink::BOLD, style.columns(), &first, &rest);
    if let Some((left_out, last)) = folded.rest {
        let more =
            format!("{} {left_out} left out; `longshore show --json` has all of it", style.signs().more);
        lines.extend(text_behind(&more, ink::DIM, style.columns(), &rest, &rest));
        lines.extend(text_behind(&clean(last), ink::BOLD, style.columns(), &rest, &rest));
    }
    for attachment in attachments {
        let name = attachment.name.as_deref().unwrap_or("attachment");
        let text = format!("+ {name} ({})", attachment.media_type);
        lines.extend(text_behind(&clean(&text), ink::DIM, style.columns(), &rest, &rest));
    }
    if let Some(by) = by.filter(|by| *by != "owner") {
        lines.extend(text_behind(&format!("from {}", clean(by)), ink::DIM, style.columns(), &rest, &rest));
    }
    lines
}

/// The first thing that a thought says, without its markup.
fn gist(thought: &str) -> String {
    let thought = clean(thought);
    let line = thought.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let line = line.trim_start_matches(['#', ' ']);
    // Marks around the whole line go; those within it are part of what it says.
    let inner = ["**", "__", "*", "_"].into_iter().find_map(|mark| {
        let inner = line.strip_prefix(mark)?.strip_suffix(mark)?;
        (!inner.is_empty() && !inner.contains(mark)).then_some(inner)
    });
    inner.unwrap_or(line).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::gist;

    #[test]
    fn a_thought_keeps_the_marks_within_it_and_loses_those_around_it() {
        for (thought, told) in [
            ("**Looking**\n\nAt it", "Looking"),
            ("Thinking about **greetings**", "Thinking about **greetings**"),
            ("**a** and **b**", "**a** and **b**"),
            ("## Heading", "Heading"),
            ("_soft_", "soft"),
            ("**", "**"),
        ] {
            assert_eq!(gist(thought), told);
        }
    }
}
