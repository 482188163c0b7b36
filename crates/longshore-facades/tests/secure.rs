//! TLS: with a certificate of the hub's own authority, and with the user's own files.

use std::path::Path;
use std::sync::Arc;

use longshore_facades::tls::Tls;
use longshore_log::MemoryLog;
use longshore_model::time::Timestamp;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::rig::{Rig, TOKEN, soon};

fn now() -> Timestamp {
    // The certificate is looked at with the clock of this machine.
    #[allow(clippy::disallowed_methods)]
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    Timestamp::from_micros(since.as_micros() as i64)
}

fn local(folder: &Path) -> Tls {
    Tls::local(folder, vec!["localhost".to_owned(), "127.0.0.1".to_owned()], now()).unwrap()
}

/// Speaks TLS with the hub, trusting one authority: what it answers to a request, or why there is no TLS.
async fn ask(rig: &Rig, authority: &Path, name: &str, request: &str) -> Result<String, String> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(authority).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let tcp = TcpStream::connect(rig.at).await.unwrap();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let mut stream =
        TlsConnector::from(Arc::new(config)).connect(name, tcp).await.map_err(|error| error.to_string())?;
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let _ = soon("an answer", stream.read_to_end(&mut answer)).await;
    Ok(String::from_utf8(answer).unwrap())
}

#[tokio::test]
async fn the_authority_stays_and_its_certificate_is_believed() {
    let folder = tempfile::tempdir().unwrap();
    let first = local(folder.path());
    let second = local(folder.path());
    let fingerprint = |tls: &Tls| tls.authority.as_ref().unwrap().fingerprint.clone();
    assert_eq!(fingerprint(&first), fingerprint(&second), "a phone is told once whom to trust");
    assert_ne!(first.fingerprint, second.fingerprint, "the key is of this start alone");
    let mode = |name: &str| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777
    };
    assert_eq!((mode("ca.key"), mode("ca.pem")), (0o600, 0o600));

    let expected = fingerprint(&second);
    let rig = Rig::over(Arc::new(MemoryLog::default()), Some(second)).await;
    let ca = folder.path().join("ca.pem");
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    assert!(ask(&rig, &ca, "localhost", &get("/health")).await.unwrap().starts_with("HTTP/1.1 200"));
    assert!(ask(&rig, &ca, "127.0.0.1", &get("/health")).await.is_ok());
    assert!(ask(&rig, &ca, "evil.example", &get("/health")).await.is_err(), "it is for its own names");
    let other = tempfile::tempdir().unwrap();
    local(other.path());
    assert!(ask(&rig, &other.path().join("ca.pem"), "localhost", &get("/health")).await.is_err());
    let public = ask(&rig, &ca, "localhost", &get("/ca.pem")).await.unwrap();
    assert!(public.contains(&std::fs::read_to_string(&ca).unwrap()) && !public.contains("PRIVATE"));

    let body = json!({ "token": TOKEN }).to_string();
    let post = |path: &str, body: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nhost: localhost:8790\r\nconnection: close\r\nauthorization: Bearer {TOKEN}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let pasted = ask(&rig, &ca, "localhost", &post("/pair/token", &body)).await.unwrap();
    assert!(pasted.contains("; Secure\r\n"), "{pasted}");
    let made = ask(&rig, &ca, "localhost", &post("/admin/pair/new", "{}")).await.unwrap();
    let link = format!("\"pairUrl\":\"https://localhost:8790/pair?ca={expected}#");
    assert!(made.contains(&link), "{made}");
}

#[tokio::test]
async fn files_of_ones_own_are_used_and_bad_ones_named() {
    let folder = tempfile::tempdir().unwrap();
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(vec!["hub.example".to_owned()]).unwrap();
    let cert = params.self_signed(&key).unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("cert.pem"), cert.pem()).unwrap();
    std::fs::write(path("key.pem"), key.serialize_pem()).unwrap();
    std::fs::write(path("other.pem"), rcgen::KeyPair::generate().unwrap().serialize_pem()).unwrap();
    let tls = Tls::of_files(&path("cert.pem"), &path("key.pem")).unwrap();
    assert!(tls.authority.is_none());
    let rig = Rig::over(Arc::new(MemoryLog::default()), Some(tls)).await;
    let get = "GET /health HTTP/1.1\r\nhost: hub.example\r\nconnection: close\r\n\r\n";
    assert!(ask(&rig, &path("cert.pem"), "hub.example", get).await.unwrap().starts_with("HTTP/1.1 200"));

    for (cert, key, says) in [
        ("missing.pem", "key.pem", "missing.pem"),
        ("key.pem", "key.pem", "contains no certificate"),
        ("cert.pem", "cert.pem", "contains no private key"),
        ("cert.pem", "other.pem", "cannot use the certificate"),
    ] {
        let Err(error) = Tls::of_files(&path(cert), &path(key)) else { panic!("{cert} {key}") };
        assert!(error.to_string().contains(says), "{error}");
    }
}
