//! Tables of sessions, agents and hits.

use longshore_model::capability::AgentInfo;
use longshore_model::id::Seq;
use longshore_model::info::SessionInfo;
use longshore_model::time::Timestamp;
use serde_json::{Value, json};

use super::ID;
use crate::render::{
    Hit, Style, WaitingList, agents_table, agents_tsv, inbox_table, inbox_tsv, search_hits, session_detail,
    sessions_table, sessions_tsv, usage_table, usage_tsv,
};

fn session(id: u32, more: Value) -> SessionInfo {
    let start = Timestamp::from_micros(0);
    let mut session = json!({
        "provider": "codex", "sessionId": format!("01931f5e-7a2b-7c3d-8e4f-a1b2{id:08x}"), "title": "Untitled",
        "status": "idle", "createdAt": start, "updatedAt": start, "activity": "idle", "cwd": "/w", "mode": "ask",
        "capabilities": {}, "head": 2, "usage": {}, "archived": false,
    });
    session.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value(session).unwrap()
}

fn two() -> [SessionInfo; 2] {
    let approval = json!({
        "session": ID, "seq": 3, "requestedAt": Timestamp::from_micros(0), "approval": ID,
        "subject": {"kind": "command", "command": "git push"}, "options": ["allow_once"],
    });
    [
        session(
            1,
            json!({"title": "Fix the\tlogin \u{1b}[31mtest", "activity": "waiting", "status": "active",
            "approvals": [approval], "project": "demo", "git": {"branch": "main", "dirty": 2}, "costUsd": 0.5}),
        ),
        session(2, json!({"title": "漢字", "activity": "sleeping", "status": "error"})),
    ]
}

fn later() -> Timestamp {
    Timestamp::from_micros(0).plus_millis(300_000)
}

#[test]
fn sessions_in_columns() {
    assert_eq!(
        sessions_table(&two(), later(), &Style { width: 100, ..Style::default() }),
        "\
ID        STATUS       AGENT  TITLE               NEEDS       PROJECT  BRANCH   COST  AGE
00000001  ? needs you  codex  Fix the login test  1 approval  demo     main*   $0.50   5m
00000002  ✗ failed     codex  漢字                                                     5m
"
    );
}

#[test]
fn a_narrow_list_keeps_what_matters() {
    assert_eq!(
        sessions_table(&two(), later(), &Style { width: 34, ..Style::default() }),
        "ID        STATUS       TITLE\n00000001  ? needs you  Fix the lo…\n00000002  ✗ failed     漢字\n"
    );
    assert_eq!(
        sessions_table(&[], later(), &Style::default()),
        "· no sessions; `longshore run codex \"...\"` opens one\n"
    );
}

#[test]
fn prompts_that_are_held_stand_in_the_list_and_in_the_inbox() {
    let queued =
        |text: &str, held: bool| json!({"prompt": ID, "turn": ID, "text": text, "held": held, "by": "owner"});
    let stopped = session(
        3,
        json!({"title": "Fix it", "status": "interrupted", "queueHeld": true,
            "queue": [queued("now", false), queued("add a test\nfor it", true), queued("push", true)]}),
    );
    let list = sessions_table(std::slice::from_ref(&stopped), later(), &Style::default());
    assert!(list.contains("2 held"), "{list}");
    let waiting = WaitingList { held: vec![stopped], ..WaitingList::default() };
    assert_eq!(
        inbox_table(&waiting, later(), &Style::default()),
        "\
ID        SESSION   NEEDS  WHAT                       AGE
00000003  00000003  send   2 held: add a test…; push   5m
· longshore queue send ID --all, or queue discard ID
"
    );
    let tabs = inbox_tsv(&waiting);
    assert!(tabs.starts_with("send\t") && tabs.contains("2 held: add a test…; push"), "{tabs}");
    let cut = WaitingList { interrupted: waiting.held, ..WaitingList::default() };
    let tabs = inbox_tsv(&cut);
    let row = "interrupted by a restart: Fix it; then 2 held: add a test…; push";
    assert!(tabs.starts_with("resume\t") && tabs.contains(row), "a resume sends them: {tabs}");
}

#[test]
fn programs_get_tabs() {
    assert_eq!(
        sessions_tsv(&two()),
        "01931f5e-7a2b-7c3d-8e4f-a1b200000001\tneeds-you\tcodex\tFix the login test\tdemo\tmain\t\
         1970-01-01T00:00:00.000000Z\t0.5000\t1\t0\t0\n\
         01931f5e-7a2b-7c3d-8e4f-a1b200000002\tfailed\tcodex\t漢字\t\t\t\
         1970-01-01T00:00:00.000000Z\t\t0\t0\t0\n"
    );
}

#[test]
fn one_session_in_full() {
    assert_eq!(
        session_detail(&two()[0], Some("cd /w && codex resume 1-2"), later(), &Style::default()),
        "\
Fix the login test
? needs you · 5m ago
id        01931f5e-7a2b-7c3d-8e4f-a1b200000001
agent     codex · mode ask
folder    /w
branch    main · 2 files changed
used      $0.50
opened    5m ago · 2 events
approval  run git push · 01931f5e-7a2b-7c3d-8e4f-a1b2c3d4e5f6
hand back cd /w && codex resume 1-2
"
    );
}

#[test]
fn agents_say_what_they_lack_and_how_to_get_it() {
    let agents: Vec<AgentInfo> = serde_json::from_value(json!([
        {"name": "codex", "title": "Codex", "path": "/bin/codex", "version": "1.2", "install": "npm i codex",
         "capabilities": {"modes": ["plan", "ask"]}, "remark": "old", "login": "codex login", "loggedIn": false},
        {"name": "claude", "title": "Claude", "install": "npm i claude", "capabilities": {}},
    ]))
    .unwrap();
    assert_eq!(
        agents_table(&agents, &Default::default(), &Style::default()),
        "\
AGENT    VERSION  MODES     PATH
! codex  1.2      plan ask  /bin/codex
! codex: old
! codex: nobody is logged in; run `codex login`

not installed
○ claude  npm i claude
"
    );
    assert_eq!(
        agents_tsv(&agents, &Default::default()),
        "codex\t1.2\t/bin/codex\tlogged out\tplan ask\tcodex login\t\nclaude\t\t\tmissing\t\tnpm i claude\t\n"
    );
}

#[test]
fn hits_are_grouped_by_session() {
    let hit = |seq, snippet| Hit {
        session: ID.parse().unwrap(),
        seq: Seq(seq),
        title: "Fix",
        at: Timestamp::from_micros(0),
        snippet,
    };
    let hits = [hit(3, "the login\nfails"), hit(12, "login again")];
    assert_eq!(
        search_hits(&hits, "login", later(), &Style::default()),
        "c3d4e5f6  Fix  5m\n     3  the login fails\n    12  login again\n"
    );
    let other =
        Hit { session: "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap(), ..hit(5, "no login") };
    assert_eq!(
        search_hits(&[hits[0], other, hits[1]], "login", later(), &Style::default()),
        "c3d4e5f6  Fix  5m\n     3  the login fails\n    12  login again\n\n099a8057  Fix  5m\n     5  no login\n",
        "each session stands once"
    );
    let colored = Style { color: true, ..Style::default() };
    assert!(
        search_hits(&hits, "LOG", later(), &colored).contains("the \u{1b}[1m\u{1b}[33mlogin\u{1b}[0m fails")
    );
    assert_eq!(search_hits(&[], "x", later(), &Style::default()), "· nothing found for \"x\"\n");
}

#[test]
fn eighty_columns_hold_the_list_with_its_whole_heads() {
    let table = sessions_table(&two(), later(), &Style { width: 80, ..Style::default() });
    let head = table.lines().next().unwrap();
    assert!(head.contains("NEEDS") && !head.contains('…'), "{table}");
    assert!(table.contains("1 approval"), "{table}");
}

#[test]
fn titles_are_cut_before_what_stands_beside_them() {
    let wide = |id, agent: &str, title: &str| {
        session(
            id,
            json!({"title": title, "provider": agent, "status": "interrupted", "project": "a-long-project-name",
            "git": {"branch": "a-long-branch-name", "dirty": 0}, "costUsd": 1.5}),
        )
    };
    let sessions = [wide(1, "codex-exec", "short"), wide(2, "claude-new", &"a long title ".repeat(9))];
    let table = sessions_table(&sessions, later(), &Style { width: 80, ..Style::default() });
    for whole in ["■ interrupted  codex-exec  short", "■ interrupted  claude-new  a long"] {
        assert!(table.contains(whole), "{table}");
    }
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
}

#[test]
fn a_hit_in_a_text_without_spaces_is_a_few_lines() {
    let solid = format!("{}needle{}", "日本".repeat(100_000), "語".repeat(100_000));
    let hit = Hit { session: ID.parse().unwrap(), seq: Seq(7), title: "Big", at: later(), snippet: &solid };
    let shown = search_hits(&[hit], "needle", later(), &Style::default());
    assert!(shown.lines().count() < 15 && shown.contains("needle"), "{shown}");
}

#[test]
fn what_is_used_is_added_up() {
    let day = |day: &str, agent: &str, cost: f64| {
        serde_json::from_value(json!({"day": day, "agent": agent, "input": 1000, "output": 10, "cached": 5,
            "cost": cost, "turns": 1}))
        .unwrap()
    };
    let days =
        [day("2026-11-15", "codex", 0.5), day("2026-11-16", "codex", 0.25), day("2026-11-16", "claude", 0.0)];
    assert_eq!(
        usage_table(&days, |day| day.agent.clone(), &Style::default()),
        "\
WHAT    TURNS  INPUT  CACHED  OUTPUT   COST
claude      1   1.0k       5      10
codex       2   2.0k      10      20  $0.75
total       3   3.0k      15      30  $0.75
"
    );
    let tabs = usage_tsv(&days, |day| day.day.clone());
    assert_eq!(tabs, "2026-11-15\t1\t1000\t5\t10\t0.5000\n2026-11-16\t2\t2000\t10\t20\t0.2500\n");
    let free = usage_tsv(&days, |day| day.agent.clone());
    assert_eq!(free, "claude\t1\t1000\t5\t10\t\ncodex\t2\t2000\t10\t20\t0.7500\n", "no cost is known");
}
