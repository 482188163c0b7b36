//! What must be hidden, and what must not. The secrets are made up; they are in pieces so that nobody takes them for real ones.

use super::{HIDDEN, redacted};

/// 48 letters as if drawn by lot, a part of which stands in many keys.
const LOT: &str = "aB3dE5fG7hJ9kL2mN4pQ6rS8tV0wX1yZaC5eF7gH9jK3mP6q";
const HEX: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

#[track_caller]
fn hides(text: &str, secret: &str) {
    let clean = redacted(text);
    assert!(clean.contains(HIDDEN), "nothing is hidden in {text}");
    assert!(!clean.contains(secret), "{secret} is left in {clean}");
    assert_eq!(redacted(&clean), clean, "what is hidden stays as it is");
}

#[track_caller]
fn keeps(text: &str) {
    assert_eq!(redacted(text), text);
}

#[test]
fn keys_of_all_makers_are_hidden_wherever_they_stand() {
    let of = |beginning: &str, length: usize| format!("{beginning}{}", &LOT[..length]);
    let keys = [
        of("sk-", 48),
        of("sk-proj-", 48),
        of("sk-ant-api03-", 48),
        of("sk-or-v1-", 48),
        of("gsk_", 40),
        of("xai-", 40),
        of("pplx-", 40),
        of("hf_", 34),
        of("r8_", 37),
        of("nvapi-", 40),
        of("AIza", 35),
        of("ya29.", 40),
        of("GOCSPX-", 28),
        of("ghp_", 36),
        of("gho_", 36),
        of("github_pat_", 40),
        of("glpat-", 20),
        of("npm_", 36),
        of("pypi-", 40),
        of("dckr_pat_", 27),
        of("ATATT", 40),
        of("lin_api_", 40),
        of("figd_", 40),
        of("ntn_", 40),
        of("dop_v1_", 40),
        of("dapi", 32),
        of("hvs.", 24),
        of("tskey-auth-", 24),
        of("sbp_", 40),
        of("sk_live_", 24),
        of("rk_live_", 24),
        of("whsec_", 32),
        of("shpat_", 32),
        of("SG.", 40),
        of("xoxb-", 24),
        of("xapp-", 24),
        format!("{}{}", "AKIA", "IOSFODNN7EXAMPLE"),
        format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{}", &LOT[..43]),
    ];
    for key in &keys {
        hides(&format!("it says {key} and goes on"), key);
        hides(&format!("{{\"text\":\"{key}\"}}"), key);
        hides(&format!("export KEY={key}\n"), key);
        hides(&format!("https://api.example/v1?x={key}&y=1"), key);
    }
}

#[test]
fn what_is_drawn_by_lot_is_hidden_without_a_name() {
    hides(&format!("the value is {}", &LOT[..32]), &LOT[..32]);
    hides("then q7w3e9r1t5y8u2i6o4p0a3s7d1f5g9h2 came", "q7w3e9r1t5y8u2i6o4p0a3s7d1f5g9h2");
    hides("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPL9KEY", "wJalrXUtnFEMI");
    hides(&format!("token of the hub: {HEX}"), HEX);
    hides(&format!("a device came with {HEX}"), HEX);
}

#[test]
fn what_a_name_calls_secret_is_hidden() {
    for (text, secret) in [
        ("password=hunter2", "hunter2"),
        ("PGPASSWORD=correct psql", "correct"),
        ("DB_PASS=letmein99 make", "letmein99"),
        ("export OPENAI_API_KEY=abcdef", "abcdef"),
        ("STRIPE_KEY='abcdefgh'", "abcdefgh"),
        ("{\"apiKey\":\"abc\",\"model\":\"large\"}", "abc"),
        ("{\"line\":\"{\\\"client_secret\\\":\\\"open sesame\\\"}\"}", "open sesame"),
        ("  password: correcthorse\n  user: ada", "correcthorse"),
        ("api_key = \"x7\"", "x7"),
        ("mysql --password hunter2 -h db", "hunter2"),
        ("gh --token 0a1b2c3d4e list", "0a1b2c3d4e"),
        ("GET /x?token=s3cret&a=1", "s3cret"),
        ("/blob?sv=1&sig=ab%2Bc9&x=1", "ab%2Bc9"),
        ("AccountName=a;AccountKey=Zm9vYmFy9w==;Suffix=b", "Zm9vYmFy9w"),
        ("Authorization: Bearer abc.def.ghi", "abc.def"),
        ("authorization: Basic YWRhOmxvdmVsYWNl", "YWRhOmxvdmVsYWNl"),
        ("-H 'Authorization: token 0123456789'", "0123456789"),
        ("curl -H \"X-Api-Key: 12ab34cd\"", "12ab34cd"),
        ("Cookie: longshore=czNjcmV0; theme=dark", "czNjcmV0"),
        ("set-cookie: sid=abc; Path=/", "abc"),
        ("it said Bearer 1a2b3c4d5e6f", "1a2b3c4d5e6f"),
        ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI"),
    ] {
        hides(text, secret);
    }
}

#[test]
fn passwords_in_urls_and_private_keys_are_hidden() {
    hides("postgres://ada:lovelace@db.example:5432/app", "lovelace");
    hides("redis://:p4ss@cache/0", "p4ss");
    hides("amqp://u:p@ss@host", "p@ss");
    hides("git clone https://abcdefghijklmnopqrst@git.example/x.git", "abcdefghijklmnopqrst");
    let key =
        format!("-----BEGIN {} KEY-----\nMIIabc\ndef\n-----END {} KEY-----", "RSA PRIVATE", "RSA PRIVATE");
    hides(&key, "MIIabc");
    let in_json = format!("{{\"key\":\"-----BEGIN {} KEY-----\\nMIIabc\\n-----END", "PRIVATE");
    hides(&in_json, "MIIabc");
    hides(&format!("-----BEGIN {} KEY-----\nb3BlbnNzaA", "OPENSSH PRIVATE"), "b3BlbnNzaA");
    hides("open http://127.0.0.1:8790/pair#ABCDEFGHJKMNPQRSTUVWXYZ2", "ABCDEFGH");
    hides("open http://127.0.0.1:8790/pair?code=ABCDEFGH", "ABCDEFGH");
}

#[test]
fn ids_hashes_names_and_paths_stay() {
    for text in [
        "session 019a8f2e-7c3d-7b1a-9c4e-5f6a7b8c9d0e ended",
        "thread-019a8f2e-7c3d-7b1a-9c4e-5f6a7b8c9d0e.jsonl",
        "commit 83dee5b1c2d3e4f5a6b7c8d9e0f1a2b3c4d5e6f7",
        "index 83dee5b..9480043 100644",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "md5 d41d8cd98f00b204e9800998ecf8427e",
        "\"integrity\": \"sha512-aB3dE5fG7hJ9kL2mN4pQ6rS8tV0wX1yZaC5eF7gH9jK3mP6q\"",
        "aW1hZ2UtMDEtb2YtdGhlLWJvYXQ5OTk3.png",
        "data:image/png;base64,aB3dE5fG7hJ9kL2mN4pQ6rS8tV0wX1yZ",
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
        "/home/dev/project/src/components/message/MarkdownRenderer2.svelte",
        "C:\\Users\\Ada\\Documents\\Report2024Final.docx",
        "crates/longshore-facades/src/native/socket_methods.rs:104",
        "/assets/index-BhX3k9Qz.js",
        "toolu_01aB3dE5fG7hJ9kL2mN4pQ6r",
        "call_aB3dE5fG7hJ9kL2mN4pQ6rS8",
        "https://docs.example/a/very/long/path/with-2024-in-it?page=3#part-2",
        "ssh://git@github.com/owner/repo.git",
        "user@example.com:8080",
        "thisIsAVeryLongCamelCaseNameOfAFunction2",
        "SCREAMING_SNAKE_CASE_CONSTANT_OF_2024",
        "gpt-5.1-codex-max-2026-01-15",
        "-----BEGIN CERTIFICATE-----\nMIIabc\n-----END CERTIFICATE-----",
    ] {
        keeps(text);
    }
}

#[test]
fn prose_and_code_stay() {
    for text in [
        "The token is printed by `longshore token`; the password: the one that you chose.",
        "It is a basic question of trust, and the bearer of this letter has good news.",
        "A secret: nobody reads it. Authorization: the act of allowing.",
        "maxTokens: 4096, total_tokens=1234, token=5",
        "let token = Token::new(secret);",
        "password = ask_for_password()",
        "api_key=${OPENAI_API_KEY}",
        "{\"token\":null,\"password\":\"\"}",
        "apiKey: '••••'",
        "if token == other && key != none",
        "Use --token to sign in.",
        "interface Login { token: string; password: string }",
        "sk-learn is a nickname, and key-value-stores-are-fine-without-digits-in-their-names too",
        "ünïcode: pässwörd 密码 = ?",
        "",
    ] {
        keeps(text);
    }
}

#[test]
fn any_text_at_all_is_read_without_a_fault() {
    let pieces = [
        "password=",
        "\"",
        "\\",
        "ü",
        "://",
        "@",
        ":",
        "-----BEGIN PRIVATE KEY-----",
        "Bearer ",
        "\n",
        "--token ",
        "a1B2",
    ];
    let mut texts = vec![String::new()];
    for _ in 0..3 {
        texts =
            texts.iter().flat_map(|text| pieces.iter().map(move |piece| format!("{text}{piece}"))).collect();
        for text in &texts {
            let clean = redacted(text);
            assert_eq!(redacted(&clean), clean, "{text}");
        }
    }
}
