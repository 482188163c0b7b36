//! Devices, the token and TLS with the whole program, as a person uses them.

use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::time::Duration;

use longshore::client::Client;
use longshore::dial::Trust;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use super::rig::{Rig, TOKEN, WITHIN, processes, processes_with, until};

/// A hub with a home of its own and no agents.
struct Home {
    folder: TempDir,
    hub: Option<Child>,
    url: String,
}

impl Home {
    async fn with(flags: &[&str]) -> Self {
        let mut home = Self { folder: TempDir::new().unwrap(), hub: None, url: String::new() };
        let log = std::fs::File::create(home.folder.path().join("hub.log")).unwrap();
        home.start(flags, log).await;
        home
    }

    /// Starts the hub of this home, or starts it again. The hub prints into this file.
    async fn start(&mut self, flags: &[&str], log: std::fs::File) {
        let home = self;
        let mut up = home.longshore(&["up"]);
        let mut hub = up.args(flags).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        let mut pace = tokio::time::interval(Duration::from_millis(5));
        let note = home.data().join("hub.json");
        let up = async {
            loop {
                pace.tick().await;
                assert!(hub.try_wait().unwrap().is_none(), "the hub ended at once: {}", home.log());
                let said = std::fs::read_to_string(&note).unwrap_or_default();
                if let Ok(running) = serde_json::from_str::<Value>(&said) {
                    return running["url"].as_str().unwrap().to_owned();
                }
            }
        };
        home.url = tokio::time::timeout(WITHIN, up).await.expect("the hub did not come up");
        home.hub = Some(hub);
    }

    /// Ends the hub as a person does.
    async fn stop(&mut self) {
        self.says(&["down"]).await;
        let ended = self.hub.take().unwrap().wait_with_output();
        tokio::time::timeout(WITHIN, ended).await.expect("the hub did not end").unwrap();
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("hub.log")).unwrap()
    }

    fn longshore(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_longshore"));
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.folder.path())
            .env("LONGSHORE_HOME", self.folder.path())
            .env("LONGSHORE_LOG", "trace")
            .env("LONGSHORE_WATCH_PAST", "false")
            .args(arguments)
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    }

    async fn output(&self, arguments: &[&str]) -> Output {
        let running = self.longshore(arguments).output();
        tokio::time::timeout(WITHIN, running).await.expect("it did not end").unwrap()
    }

    /// What a verb prints, which must end well.
    async fn says(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments).await;
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{arguments:?}: {out}{err}");
        out.trim().to_owned()
    }

    /// Becomes a device, as a phone does.
    async fn consume(&self, code: &Value) -> Value {
        let host = self.url.strip_prefix("http://").unwrap();
        let body = json!({ "code": code, "label": "Ada's phone" }).to_string();
        let mut tcp = TcpStream::connect(host).await.unwrap();
        let request = format!(
            "POST /pair/consume HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        tcp.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        tcp.read_to_string(&mut answer).await.unwrap();
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    }
}

/// The disk with the log is full, or nobody reads the pipe: what the hub would say about a call is lost, the call is not.
#[tokio::test]
async fn a_hub_whose_log_nobody_takes_revokes_and_pairs_and_ends_as_always() {
    let full = || std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut home = Home { folder: TempDir::new().unwrap(), hub: None, url: String::new() };
    let flags = ["--bind", "127.0.0.1:0"];
    home.start(&flags, full()).await;
    let made: Value = serde_json::from_str(&home.says(&["pair", "--json"]).await).unwrap();
    let paired = home.consume(&made["code"]).await;
    let token = paired["token"].as_str().unwrap();
    assert!(Client::connect(&home.url, token).await.is_ok());
    assert_eq!(home.says(&["devices", "revoke", "Ada's phone"]).await, "Ada's phone is revoked");
    home.says(&["token", "rotate"]).await;
    home.stop().await;
    assert!(!home.data().join("hub.json").exists(), "it ended in order");
    home.start(&flags, full()).await;
    let back = Client::connect(&home.url, token).await.err().unwrap().to_string();
    assert!(back.contains("revoked"), "{back}");
    home.stop().await;
}

#[tokio::test]
async fn a_device_is_paired_listed_and_revoked_and_the_token_rotated() {
    let home = Home::with(&["--bind", "127.0.0.1:0"]).await;
    let made: Value =
        serde_json::from_str(&home.says(&["pair", "--mode", "read_only", "--json"]).await).unwrap();
    assert_eq!(made["mode"], "read_only");
    assert!(made["pairUrl"].as_str().unwrap().starts_with(&format!("{}/pair#", home.url)), "{made}");
    let paired = home.consume(&made["code"]).await;
    let token = paired["token"].as_str().unwrap();
    let mut phone = Client::connect(&home.url, token).await.unwrap();
    let me: Value = phone.call("me", json!({})).await.unwrap();
    assert_eq!((&me["role"], &me["mode"]), (&json!("device"), &json!("read_only")));
    let told = phone.call::<Value>("importPast", json!({})).await.unwrap_err().to_string();
    assert!(told.contains("may not"), "{told}");

    let listed = home.says(&["devices"]).await;
    assert!(listed.contains("\tAda's phone\tread_only\t"), "{listed}");
    assert_eq!(home.output(&["devices", "revoke", "nobody"]).await.status.code(), Some(3));
    assert_eq!(home.says(&["devices", "revoke", "Ada's phone"]).await, "Ada's phone is revoked");
    let ended = tokio::time::timeout(WITHIN, phone.news()).await.expect("its connection ends at once");
    assert!(ended.is_err());
    let back = Client::connect(&home.url, token).await.err().unwrap().to_string();
    assert!(back.contains("revoked"), "{back}");

    let before = home.says(&["token"]).await;
    let after = home.says(&["token", "rotate"]).await;
    assert!(after.len() == 64 && after != before);
    assert_eq!(home.says(&["token"]).await, after, "the file has the new one");
    assert!(Client::connect(&home.url, &before).await.is_err());
    assert!(Client::connect(&home.url, &after).await.is_ok());
    for file in ["token", "push.key", "hub.json"] {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(home.data().join(file)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{file}");
    }
    let log = home.log();
    for secret in [before.as_str(), &after, token, made["code"].as_str().unwrap()] {
        assert!(!log.contains(secret), "a secret is in the log");
    }
}

#[tokio::test]
async fn a_hub_with_tls_is_known_here_by_its_certificate_and_elsewhere_by_its_authority() {
    let home = Home::with(&["--bind", "127.0.0.1:0", "--tls", "--allow-host", "hub.example"]).await;
    assert!(home.url.starts_with("https://127.0.0.1:"), "{}", home.url);
    assert!(home.log().contains("/ca.pem, SHA-256 "), "{}", home.log());
    assert_eq!(home.says(&["ls", "--json"]).await, json!({ "sessions": [], "next": null }).to_string());
    let made: Value = serde_json::from_str(&home.says(&["pair", "--json"]).await).unwrap();
    assert!(made["pairUrl"].as_str().unwrap().contains("/pair?ca="), "{made}");

    let token = home.says(&["token"]).await;
    let authority = Some(home.data().join("ca.pem"));
    let trust = Trust { authority, ..Trust::default() };
    let port = home.url.rsplit(':').next().unwrap();
    for name in ["localhost", "127.0.0.1"] {
        let client = Client::connect_to(&format!("https://{name}:{port}"), &token, &trust).await;
        assert!(client.is_ok(), "{name}: {:?}", client.err());
    }
    let unknown = Client::connect(&home.url, &token).await.err().unwrap().to_string();
    assert!(unknown.contains("cannot trust the hub's certificate"), "{unknown}");
    let other = Trust { fingerprint: Some("00".repeat(32)), ..Trust::default() };
    assert!(Client::connect_to(&home.url, &token, &other).await.is_err());

    let ca = home.data().join("ca.pem");
    let named = format!("https://localhost:{port}");
    let mut listing = home.longshore(&["devices", "--json"]);
    let listed = listing.env("LONGSHORE_URL", &named).env("LONGSHORE_CA", ca).output().await.unwrap();
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let unknown = home.longshore(&["devices"]).env("LONGSHORE_URL", &named).output().await.unwrap();
    let said = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(unknown.status.code() == Some(6) && said.contains("LONGSHORE_CA"), "{said}");
    assert!(home.says(&["down"]).await.contains("stopped"));
}

#[tokio::test]
async fn nobody_listens_beyond_this_machine_without_tls_by_accident() {
    let folder = TempDir::new().unwrap();
    let home = Home { folder, hub: None, url: String::new() };
    let refused = home.output(&["up", "--bind", "0.0.0.0:0"]).await;
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("without TLS") && said.contains("--tls"), "{said}");
    assert!(!home.data().exists(), "nothing was begun");
    let half = home.output(&["up", "--tls-cert", "cert.pem"]).await;
    assert_eq!(half.status.code(), Some(2));
}

/// Listens where a hub could be, says this to everybody, and keeps what it hears.
async fn pretender(says: &'static str) -> (String, std::sync::Arc<std::sync::Mutex<Vec<u8>>>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap().to_string();
    let heard = std::sync::Arc::<std::sync::Mutex<Vec<u8>>>::default();
    let keep = std::sync::Arc::clone(&heard);
    tokio::spawn(async move {
        while let Ok((mut tcp, _)) = listener.accept().await {
            let keep = std::sync::Arc::clone(&keep);
            tokio::spawn(async move {
                let mut bytes = [0; 4096];
                while let Ok(read @ 1..) = tcp.read(&mut bytes).await {
                    keep.lock().unwrap().extend(&bytes[..read]);
                    let _ = tcp.write_all(says.as_bytes()).await;
                }
            });
        }
    });
    (at, heard)
}

#[tokio::test]
async fn the_owners_token_is_told_to_nobody_but_the_hub_that_knows_it() {
    let home = Home::with(&["--bind", "127.0.0.1:0"]).await;
    let token = home.says(&["token"]).await;
    home.says(&["ls"]).await;
    home.says(&["down"]).await;
    let answers = [
        "HTTP/1.1 200 OK\r\ncontent-length: 14\r\n\r\n{\"proof\":\"00\"}",
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
        "hello",
    ];
    for says in answers {
        for variable in ["LONGSHORE_BIND", "LONGSHORE_URL"] {
            let (at, heard) = pretender(says).await;
            let at = if variable == "LONGSHORE_URL" { format!("http://{at}") } else { at };
            let asked = home.longshore(&["ls"]).env(variable, &at).output();
            let asked = tokio::time::timeout(WITHIN, asked).await.expect("it did not end").unwrap();
            let told = String::from_utf8_lossy(&asked.stderr).into_owned();
            assert_eq!(asked.status.code(), Some(6), "{variable}: {says}: {told}");
            assert!(
                told.contains("another program listens") && told.contains("was not sent"),
                "{says}: {told}"
            );
            let heard = String::from_utf8_lossy(&heard.lock().unwrap()).into_owned();
            assert!(heard.contains("/prove") && !heard.contains(&token), "{heard}");
            assert!(!heard.to_lowercase().contains("authorization"), "{heard}");
        }
    }
    let other = Home::with(&["--bind", "127.0.0.1:0"]).await;
    let at = other.url.strip_prefix("http://").unwrap();
    let asked = home.longshore(&["ls"]).env("LONGSHORE_BIND", at).output().await.unwrap();
    let told = String::from_utf8_lossy(&asked.stderr).into_owned();
    assert!(asked.status.code() == Some(6) && told.contains("another hub listens at"), "{told}");
    assert!(told.contains("LONGSHORE_HOME"), "{told}");

    // Neither of them is ended by `down`, and no `up` helps as long as they are there.
    let (stranger, _) = pretender("hello").await;
    for (bind, fix) in [(at, "fix: set `LONGSHORE_HOME`"), (stranger.as_str(), "fix: another program")] {
        let doctor = home.longshore(&["doctor"]).env("LONGSHORE_BIND", bind).output();
        let doctor = tokio::time::timeout(WITHIN, doctor).await.expect("it did not end").unwrap();
        let told = String::from_utf8_lossy(&doctor.stdout).into_owned();
        assert_eq!(doctor.status.code(), Some(1), "{told}");
        assert!(told.contains(fix) && told.contains("--bind") && !told.contains("longshore down"), "{told}");
    }
}

/// As another program of the same user would. Root reads everything, so that there it is somebody else's hub.
#[tokio::test]
async fn the_environment_of_the_hub_is_read_by_no_other_program_of_the_user() {
    let is_root = rustix::process::getuid().is_root();
    let nobody = 65_534;
    let folder = TempDir::new().unwrap();
    if is_root {
        std::os::unix::fs::chown(folder.path(), Some(nobody), Some(nobody)).unwrap();
    }
    let program = folder.path().join("longshore");
    std::fs::copy(env!("CARGO_BIN_EXE_longshore"), &program).unwrap();
    let as_user = |program: &std::path::Path| {
        let mut command = Command::new(program);
        command.env_clear().stdin(Stdio::null()).kill_on_drop(true).current_dir("/");
        if is_root {
            command.uid(nobody).gid(nobody);
        }
        command
    };
    let mut hub = as_user(&program)
        .args(["up", "--bind", "127.0.0.1:0"])
        .env("HOME", folder.path())
        .env("LONGSHORE_HOME", folder.path().join("longshore-home"))
        .env("LONGSHORE_TOKEN", "s3cret")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = [0; 12];
    let up = hub.stdout.as_mut().unwrap().read_exact(&mut said);
    tokio::time::timeout(WITHIN, up).await.expect("the hub did not come up").unwrap();
    let environ = format!("/proc/{}/environ", hub.id().unwrap());
    let read = as_user(std::path::Path::new("/bin/cat")).arg(environ).output().await.unwrap();
    assert!(!read.status.success(), "{}", String::from_utf8_lossy(&read.stdout));
    assert!(!String::from_utf8_lossy(&read.stdout).contains("s3cret"));
}

/// Every agent could read it there: in the shell that waits for the end of the hub, in git, which a repository can hold up, and
/// in whatever root may look at.
#[tokio::test]
async fn nobody_beside_the_hub_has_its_token_in_its_environment() {
    let rig = Rig::with(json!([])).await;
    let run = |words: &[&str]| {
        let done = std::process::Command::new(words[0]).args(&words[1..]).current_dir(rig.work()).status();
        assert!(done.unwrap().success(), "{words:?}");
    };
    run(&["git", "init", "-q"]);
    run(&["mkfifo", ".git/pipe"]);
    run(&["git", "config", "include.path", "pipe"]);
    let environment = |pid: i32| {
        let read = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        String::from_utf8_lossy(&read).into_owned()
    };
    let work = rig.work();
    let held = std::sync::Mutex::new(String::new());
    let git_is_held = || {
        let gits = processes(|at| {
            let name = std::fs::read_to_string(at.join("comm")).unwrap_or_default();
            name.trim() == "git" && std::fs::read_link(at.join("cwd")).is_ok_and(|cwd| cwd == work)
        });
        *held.lock().unwrap() = gits.into_iter().map(environment).collect();
        held.lock().unwrap().contains("GIT_CONFIG_COUNT=")
    };
    let (_talk, ()) = tokio::join!(rig.open_with("codex", "ask"), until("git is held", git_is_held));
    assert!(!held.lock().unwrap().contains(TOKEN), "{}", held.lock().unwrap());
    let beside = processes_with(&rig.folder.path().join("longshore/data"));
    assert!(!beside.is_empty(), "nobody waits for the end of the hub");
    let hub = i32::try_from(rig.pid()).unwrap();
    for pid in beside.into_iter().chain(rig.agents()).chain([hub]) {
        assert!(!environment(pid).contains(TOKEN), "{pid}: {}", environment(pid));
    }
    // The name of the run is no word for all users of the machine either.
    let records = std::fs::read_dir(rig.folder.path().join("longshore/data/leashes")).unwrap();
    let name = records.flatten().next().unwrap().file_name();
    assert_eq!(processes_with(name.as_ref()), [0; 0]);
}
