//! Compares two shapes, and describes the differences in words.

use serde_json::{Map, Value};

use super::shape::Thing;

/// The cost of a missing or an additional thing, counted in differing fields. Two things of the same kind
/// with more differences than this are two different things.
const GAP: usize = 2;

/// The differences between what was expected and what was seen, one sentence each.
pub fn differences(expected: &[Thing], seen: &[Thing]) -> Vec<String> {
    let (expected, seen): (Vec<_>, Vec<_>) =
        (expected.iter().map(Fields::of).collect(), seen.iter().map(Fields::of).collect());
    let costs = costs(&expected, &seen);
    let (mut at, mut there) = (0, 0);
    let mut told = Vec::new();
    while at < expected.len() || there < seen.len() {
        let cost = costs[at][there];
        let pair = expected.get(at).zip(seen.get(there)).filter(|(one, other)| one.is == other.is);
        if let Some((one, other)) = pair
            && cost == one.distance(other) + costs[at + 1][there + 1]
        {
            told.extend(one.compare(other));
            (at, there) = (at + 1, there + 1);
        } else if at < expected.len() && cost == GAP + costs[at + 1][there] {
            told.push(format!("{} is missing", expected[at].label()));
            at += 1;
        } else {
            told.push(format!("{} is new", seen[there].label()));
            there += 1;
        }
    }
    told
}

/// For each pair of positions: the least number of differences from there on.
fn costs(expected: &[Fields], seen: &[Fields]) -> Vec<Vec<usize>> {
    let mut costs = vec![vec![0; seen.len() + 1]; expected.len() + 1];
    for at in (0..=expected.len()).rev() {
        for there in (0..=seen.len()).rev() {
            let lost = (at < expected.len()).then(|| GAP + costs[at + 1][there]);
            let new = (there < seen.len()).then(|| GAP + costs[at][there + 1]);
            let pair = expected.get(at).zip(seen.get(there)).filter(|(one, other)| one.is == other.is);
            let same = pair.map(|(one, other)| one.distance(other) + costs[at + 1][there + 1]);
            costs[at][there] = [lost, new, same].into_iter().flatten().min().unwrap_or(0);
        }
    }
    costs
}

/// A thing, as its fields.
struct Fields {
    is: String,
    fields: Map<String, Value>,
}

impl Fields {
    fn of(thing: &Thing) -> Self {
        let mut fields = match serde_json::to_value(thing) {
            Ok(Value::Object(fields)) => fields,
            Ok(_) | Err(_) => Map::new(),
        };
        let is = fields.remove("is").and_then(|is| is.as_str().map(str::to_owned)).unwrap_or_default();
        // It depends on luck whether an agent reports the usage of a stopped turn before the stop or not at
        // all.
        if fields.get("outcome").is_some_and(|outcome| outcome == "interrupted") {
            fields.retain(|name, _| name != "usage" && name != "cost");
        }
        Self { is, fields }
    }

    /// The name of a thing for people.
    fn label(&self) -> String {
        let what = self.fields.get("what").or_else(|| self.fields.get("text")).and_then(Value::as_str);
        let kind = match self.is.as_str() {
            "tool" => "tool call",
            "approval" => "approval of",
            "diff" => "diff of",
            "turn" => "the end of the turn",
            "fault" => "an error",
            "ready" => "the opening",
            "other" => return what.unwrap_or_default().to_owned(),
            other => other,
        };
        match what.filter(|what| !what.is_empty()) {
            Some(what) => format!("{kind} `{what}`"),
            None => kind.to_owned(),
        }
    }

    /// The fields in which two things of the same kind differ.
    fn differing<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a String> {
        let more = other.fields.keys().filter(|name| !self.fields.contains_key(*name));
        self.fields.keys().chain(more).filter(|name| self.fields.get(*name) != other.fields.get(*name))
    }

    fn distance(&self, other: &Self) -> usize {
        self.differing(other).count()
    }

    fn compare(&self, other: &Self) -> Vec<String> {
        let label = self.label();
        let one = |name: &String| {
            let (expected, seen) = (shown(self.fields.get(name)), shown(other.fields.get(name)));
            format!("{label}: {name} {seen} instead of {expected}")
        };
        self.differing(other).map(one).collect()
    }
}

/// A value as text for people.
fn shown(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null | Value::Bool(false)) => "none".to_owned(),
        Some(Value::Bool(true)) => "yes".to_owned(),
        Some(Value::String(text)) if text.contains(' ') || text.is_empty() => format!("`{text}`"),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(list)) => list.iter().map(|one| shown(Some(one))).collect::<Vec<_>>().join(", "),
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use longshore_model::item::{ToolKind, ToolStatus};
    use longshore_model::lifecycle::TurnOutcome;

    use super::*;

    fn tool(what: &str, status: ToolStatus, output: Option<&str>) -> Thing {
        let (what, output) = (what.to_owned(), output.map(str::to_owned));
        Thing::Tool { what, kind: ToolKind::Execute, status, output, exit: None, changes: Vec::new() }
    }

    fn message(text: &str) -> Thing {
        Thing::Message { text: Some(text.to_owned()), streamed: true, partial: false }
    }

    fn turn(outcome: TurnOutcome) -> Thing {
        Thing::Turn { outcome, error: None, says: None, usage: true, cost: false }
    }

    #[test]
    fn what_is_the_same_is_not_mentioned() {
        let shape =
            [message("Hello."), tool("ls", ToolStatus::Completed, Some("42")), turn(TurnOutcome::Completed)];
        assert_eq!(differences(&shape, &shape), [""; 0]);
    }

    #[test]
    fn fields_that_differ_are_told_in_words() {
        let expected = [tool("ls", ToolStatus::Completed, Some("42")), message("Done.")];
        let seen = [tool("ls", ToolStatus::Failed, None), message("Not done.")];
        assert_eq!(
            differences(&expected, &seen),
            [
                "tool call `ls`: output none instead of 42",
                "tool call `ls`: status failed instead of completed",
                "message `Done.`: text `Not done.` instead of Done.",
            ]
        );
    }

    #[test]
    fn what_a_stopped_turn_had_used_is_not_compared() {
        let end = |outcome, usage| Thing::Turn { outcome, error: None, says: None, usage, cost: usage };
        for (outcome, differ) in [(TurnOutcome::Interrupted, 0), (TurnOutcome::Completed, 2)] {
            assert_eq!(
                differences(&[end(outcome, true)], &[end(outcome, false)]).len(),
                differ,
                "{outcome:?}"
            );
        }
    }

    #[test]
    fn what_is_lost_and_what_is_new_is_told_once() {
        let (ls, done, end) =
            (tool("ls", ToolStatus::Completed, None), message("Done."), turn(TurnOutcome::Completed));
        let expected = [ls.clone(), done.clone(), end.clone()];
        assert_eq!(differences(&expected, &[ls.clone(), end.clone()]), ["message `Done.` is missing"]);
        assert_eq!(
            differences(&expected, &[tool("pwd", ToolStatus::Completed, Some("42")), ls, done, end]),
            ["tool call `pwd` is new"]
        );
        assert_eq!(differences(&[], &expected).len(), 3);
    }
}
