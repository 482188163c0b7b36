//! Messages, thoughts, plans.

use longshore_model::event::Event;
use longshore_model::id::TurnId;
use serde_json::json;

use super::{ID, bare, body, event, plain, shown};
use crate::render::{InOrder, Renderer, Show, Style};

fn message(text: &str) -> String {
    plain(&[event(1, 0, text, body("message_done", json!({})))])
}

#[test]
fn paragraphs_are_wrapped_and_headings_stand_out() {
    assert_eq!(
        message("# Title\nThe *quick* **brown** fox jumps over the lazy dog and then some more words.\n"),
        "# Title\n\nThe quick brown fox jumps over the lazy dog and then some\nmore words.\n"
    );
    let colored = Style { color: true, ..Style::default() };
    assert_eq!(
        shown(
            colored,
            &[event(1, 0, "## Title\n**bold** `code` [link](http://x)", body("message_done", json!({})))]
        ),
        "\u{1b}[1mTitle\u{1b}[0m\n\n\u{1b}[1mbold\u{1b}[0m \u{1b}[36mcode\u{1b}[0m \
         \u{1b}[4m\u{1b}[34mlink\u{1b}[0m\u{1b}[2m (http://x)\u{1b}[0m\n"
    );
}

#[test]
fn lists_hang_and_nest() {
    assert_eq!(
        message(
            "Do:\n- one that is long enough to need a second line, which it now has\n  - nested\n- [x] two\n\n9. nine\n10. ten\n"
        ),
        "Do:\n• one that is long enough to need a second line, which it\n  now has\n  • nested\n☑ two\n\n9. nine\n10. ten\n"
    );
    assert_eq!(message("- a\n\n  more\n- b"), "• a\n\n  more\n• b\n");
    assert_eq!(message("- a\n  ```sh\n  ls\n  ```\n- \n- c"), "• a\n    ┌ sh\n    │ ls\n•\n• c\n");
}

#[test]
fn code_has_a_gutter_and_a_label() {
    assert_eq!(
        message("So:\n```rust\nfn a() {\n\n\tb();\n}\n```\ndone"),
        "So:\n\n  ┌ rust\n  │ fn a() {\n  │\n  │     b();\n  │ }\n\ndone\n"
    );
    assert_eq!(message("    indented\n      more"), "  │ indented\n  │   more\n");
}

#[test]
fn quotes_rules_links_and_html() {
    assert_eq!(message("> a\n> b\n>\n> c"), "▎ a\n▎ b\n▎\n▎ c\n");
    assert_eq!(message("a\n\n---\nb"), format!("a\n\n{}\n\nb\n", "─".repeat(40)));
    assert_eq!(message("<https://x.org> ![alt](p.png) ~~no~~"), "https://x.org image: alt (p.png) no\n");
    assert_eq!(message("a<br>b <kbd>c</kbd>"), "a\nb <kbd>c</kbd>\n");
    assert_eq!(
        message("<details>\n<summary>x</summary>\n</details>"),
        "<details>\n<summary>x</summary>\n</details>\n"
    );
    assert_eq!(message("[ref]: http://x.org"), "[ref]: http://x.org\n");
}

#[test]
fn tables_are_aligned_and_narrow_ones_become_records() {
    let table = "| name | count |\n|:--|--:|\n| 漢字 | 1 |\n| b | 1000 |\n";
    assert_eq!(message(table), "name │ count\n─────┼──────\n漢字 │     1\nb    │  1000\n");
    let wide = "| a | b | c | d |\n|-|-|-|-|\n| one two three | four five six | seven eight | nine ten |\n";
    let narrow = Style { width: 24, ..Style::default() };
    assert_eq!(
        shown(narrow, &[event(1, 0, wide, body("message_done", json!({})))]),
        "• a: one two three\n  b: four five six\n  c: seven eight\n  d: nine ten\n"
    );
}

#[test]
fn blocks_are_printed_when_they_are_complete() {
    let mut renderer = Renderer::new(Style::default());
    let mut say = |text: &str| renderer.event(&event(1, 0, text, bare("message_delta")));
    assert_eq!(say("First para"), "");
    assert_eq!(say("graph.\n"), "");
    assert_eq!(say("\nSec"), "First paragraph.\n");
    assert_eq!(say("ond:\n- a\n- b\n"), "\nSecond:\n• a\n");
    assert_eq!(say("\n```sh\nls\n"), "• b\n\n  ┌ sh\n  │ ls\n");
    assert_eq!(say("ps\n```\nthe e"), "  │ ps\n");
    let whole = "First paragraph.\n\nSecond:\n- a\n- b\n\n```sh\nls\nps\n```\nthe end";
    assert_eq!(renderer.event(&event(1, 0, whole, body("message_done", json!({})))), "\nthe end\n");
}

#[test]
fn what_got_lost_before_it_was_printed_is_mended_silently() {
    let printed = plain(&[
        event(1, 0, "One.\n\nTwo th", bare("message_delta")),
        event(1, 0, "ur.", bare("message_delta")),
        event(1, 0, "One.\n\nTwo, three, four.", body("message_done", json!({}))),
    ]);
    assert_eq!(printed, "One.\n\nTwo, three, four.\n");
}

#[test]
fn what_was_printed_wrongly_is_printed_again() {
    let printed = plain(&[
        event(1, 0, "ne.\n\nTwo", bare("message_delta")),
        event(1, 0, "One.\n\nTwo.", body("message_done", json!({}))),
    ]);
    assert_eq!(printed, "ne.\n\n· parts got lost on the way; here is all of it:\n\nOne.\n\nTwo.\n");
}

#[test]
fn an_unfinished_message_says_so() {
    let printed = plain(&[event(1, 0, "I was ab", body("message_done", json!({"partial": true})))]);
    assert_eq!(printed, "I was ab\n\n· cut off here: the agent did not finish this\n");
    assert_eq!(plain(&[event(1, 0, "held back", bare("message_delta"))]), "held back\n");
}

#[test]
fn what_is_said_into_a_turn_stands_behind_the_answer_that_it_cut_short() {
    let turn: Option<TurnId> = Some(ID.parse().unwrap());
    let of_turn = |event: Event| Event { turn, ..event };
    let queued = json!({"prompt": ID, "turnId": ID, "by": "owner"});
    let asked = of_turn(event(1, 0, "count", body("user_message", json!({}))));
    let steered = [
        event(0, 2, "backwards", body("prompt_queued", queued)),
        of_turn(event(3, 3, "backwards", body("user_message", json!({})))),
    ];
    let cut = event(2, 4, "one two", body("message_done", json!({"partial": true})));
    let second = event(4, 5, "two one", body("message_done", json!({})));
    // As it is told now, and as it was told when the end of what was cut came with that of the turn.
    for told in [[&cut, &second], [&second, &cut]] {
        let mut events = vec![of_turn(event(0, 0, "", body("turn_started", json!({})))), asked.clone()];
        events.push(event(2, 1, "one ", bare("message_delta")));
        events.extend(steered.iter().cloned().chain(told.into_iter().cloned()));
        let (mut order, mut ready) = (InOrder::default(), Vec::new());
        for event in events {
            order.take(event, &mut ready);
        }
        assert!(order.rest().is_empty());
        let cut_off = "· cut off here: the agent did not finish this";
        assert_eq!(plain(&ready), format!("> count\n\none two\n\n{cut_off}\n\n> backwards\n\ntwo one\n"));
    }
    let mut order = InOrder::default();
    let mut ready = Vec::new();
    order.take(event(2, 1, "one ", bare("message_delta")), &mut ready);
    order.take(steered[1].clone(), &mut ready);
    assert_eq!((ready.len(), order.rest().len()), (1, 1), "nothing is lost of a turn that goes on");
}

#[test]
fn two_messages_at_once_do_not_mix() {
    let printed = plain(&[
        event(1, 0, "A1.\n\nA", bare("message_delta")),
        event(2, 0, "B1.\n\nB", bare("message_delta")),
        event(1, 0, "A1.\n\nA2.", body("message_done", json!({}))),
        event(2, 0, "B1.\n\nB2.", body("message_done", json!({}))),
    ]);
    assert_eq!(printed, "A1.\n\nB1.\n\nA2.\n\nB2.\n");
}

#[test]
fn thoughts_are_hidden_folded_or_shown() {
    let events = [
        event(1, 0, "", bare("reasoning_started")),
        event(1, 10, "**Looking**\n\nAt", bare("reasoning_delta")),
        event(1, 4_000, "**Looking**\n\nAt it.", body("reasoning_done", json!({}))),
    ];
    let at = |reasoning| shown(Style { reasoning, ..Style::default() }, &events);
    assert_eq!(at(Show::Hidden), "");
    assert_eq!(at(Show::Folded), "· thought for 4s: Looking\n");
    assert_eq!(at(Show::Full), "│ Looking\n│\n│ At it.\n");
    assert_eq!(plain(&[event(1, 0, "", body("reasoning_done", json!({})))]), "");
}

#[test]
fn a_plan_is_printed_when_it_changes() {
    let steps = |status: &str| body("plan_updated", json!({"steps": [{"text": "Look", "status": status}]}));
    let printed = plain(&[
        event(0, 0, "", steps("pending")),
        event(0, 0, "", steps("pending")),
        event(0, 0, "Seen.", steps("completed")),
    ]);
    assert_eq!(printed, "● Plan  0 of 1 done\n  ○ Look\n\n● Plan  1 of 1 done\n  Seen.\n  ✓ Look\n");
    let written = plain(&[
        event(3, 0, "1. Look\n2. Le", bare("plan_delta")),
        event(3, 0, "1. Look\n2. Leap", body("plan_updated", json!({"steps": []}))),
    ]);
    assert_eq!(written, "1. Look\n2. Leap\n");
}

#[test]
fn people_are_quoted() {
    let attachments = json!([{"name": "a.png", "mediaType": "image/png", "url": "http://x/a.png"}]);
    let printed = plain(&[
        event(1, 0, "do it\n\n  now", body("user_message", json!({"by": "owner"}))),
        event(2, 0, "and this", body("user_message", json!({"by": "phone", "attachments": attachments}))),
    ]);
    assert_eq!(printed, "> do it\n\n    now\n\n> and this\n  + a.png (image/png)\n  from phone\n");
}

#[test]
fn a_paragraph_is_seen_row_by_row_while_it_is_written() {
    let style = Style { width: 40, ..Style::default() };
    let mut renderer = Renderer::new(style);
    let mut say = |text: &str| renderer.event(&event(1, 0, text, bare("message_delta")));
    assert_eq!(say("The harbour has cranes, "), "");
    assert_eq!(
        say("and they are **very** tall, which helps with large "),
        "The harbour has cranes, and they are\n"
    );
    assert_eq!(say("ships that come in at "), "very tall, which helps with large ships\n");
    assert_eq!(say("a [link"), "", "what may become something else waits");
    let status = renderer.status(longshore_model::time::Timestamp::from_micros(0));
    assert_eq!(status, None, "no turn runs");
    let whole = "The harbour has cranes, and they are **very** tall, which helps with large ships that come in at \
                 a [link](http://x) of night.";
    assert_eq!(
        renderer.event(&event(1, 0, whole, body("message_done", json!({})))),
        "that come in at a link (http://x) of\nnight.\n"
    );
}

#[test]
fn a_notice_waits_for_the_end_of_the_paragraph_or_of_the_code_in_whose_middle_it_comes() {
    let mut renderer = Renderer::new(Style { width: 40, ..Style::default() });
    let mut see = |item, text: &str, kind| renderer.event(&event(item, 0, text, kind));
    let says = || bare("message_delta");
    let held = || body("notice", json!({"level": "info"}));
    assert_eq!(
        see(1, "The harbour has cranes, and they are very tall, which helps ", says()),
        "The harbour has cranes, and they are\n"
    );
    assert_eq!(see(0, "a prompt is held", held()), "");
    assert_eq!(
        see(1, "with ships.\n\nSo", says()),
        "very tall, which helps with ships.\n\n· a prompt is held\n"
    );
    assert_eq!(see(1, ":\n```\nls\n", says()), "\nSo:\n\n  │ ls\n");
    assert_eq!(see(0, "once more", held()), "");
    assert_eq!(see(1, "ps\n```\n", says()), "  │ ps\n\n· once more\n");
    see(2, "Words that are cut off in the middle of a row, ", says());
    assert_eq!(see(0, "a prompt is held", held()), "");
    assert_eq!(
        see(
            2,
            "Words that are cut off in the middle of a row, ",
            body("message_done", json!({"partial": true}))
        ),
        "a row,\n\n· cut off here: the agent did not finish\n  this\n· a prompt is held\n"
    );
}

#[test]
fn a_terminal_that_changes_its_width_in_a_paragraph_sees_it_once() {
    let text = "The harbour has cranes, and they are very tall, which helps with large ships that come in at night, \
                when nobody is there to see them but the keeper of the light.";
    for (before, after) in [(60, 30), (30, 60), (40, 120)] {
        let mut renderer = Renderer::new(Style { width: before, ..Style::default() });
        let mut printed = String::new();
        for (at, word) in text.split_inclusive(' ').enumerate() {
            if at == 14 {
                renderer.resize(after);
            }
            printed += &renderer.event(&event(1, 0, word, bare("message_delta")));
        }
        printed += &renderer.event(&event(1, 0, text, body("message_done", json!({}))));
        let words: Vec<&str> = printed.split_whitespace().collect();
        assert_eq!(words, text.split_whitespace().collect::<Vec<_>>(), "{before} to {after}: {printed}");
    }
}

#[test]
fn a_long_prompt_is_folded_with_what_is_left_out_named() {
    let text: String = (1..=5000).map(|number| format!("line {number}\n")).collect();
    let printed = plain(&[event(0, 0, &text, body("user_message", json!({})))]);
    assert!(printed.starts_with("> line 1\n  line 2\n") && printed.ends_with("  line 5000\n"), "{printed}");
    assert!(printed.lines().count() < 40 && printed.contains("lines (") && printed.contains("left out"));
}
