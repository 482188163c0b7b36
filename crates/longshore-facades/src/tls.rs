//! TLS with a certificate of the user, or of a small authority in the data folder.
//!
//! The authority is made once, so a phone needs to trust it once. The hub makes a new certificate at every
//! start, for its current names; the certificate's key is never written to disk.

use std::path::Path;
use std::sync::Arc;

use data_encoding::HEXLOWER;
use longshore_model::time::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, date_time_ymd,
};
use ring::digest;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;

use crate::key_file;

const DAY_MS: i64 = 24 * 3600 * 1_000;
/// How many days a certificate is valid; phones accept at most 398.
const DAYS: i64 = 390;

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The hub cannot read or write a file.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// A file has the wrong content.
    #[error("{path} contains no {what} in PEM")]
    Pem {
        /// The file.
        path: String,
        /// What the file should hold.
        what: &'static str,
    },
    /// The hub cannot make a certificate.
    #[error("cannot make a certificate: {0}")]
    Make(#[from] rcgen::Error),
    /// Certificate and key do not fit together, or cannot be used.
    #[error("cannot use the certificate and its key: {0}")]
    Unusable(#[from] rustls::Error),
}

/// The TLS of a server.
#[derive(Clone)]
pub struct Tls {
    pub(crate) acceptor: TlsAcceptor,
    /// The SHA-256 of the certificate, by which programs of this machine know the hub.
    pub fingerprint: String,
    /// The hub's own authority, if it signed the certificate.
    pub authority: Option<Authority>,
}

/// The hub's own authority.
#[derive(Clone, Debug)]
pub struct Authority {
    /// The SHA-256 of the authority's certificate, in hex.
    pub fingerprint: String,
    /// The authority's certificate, for devices that want to trust it.
    pub pem: String,
}

impl Tls {
    /// TLS with the user's own files.
    pub fn of_files(cert: &Path, key: &Path) -> Result<Self, TlsError> {
        let pem = |path: &Path, what| TlsError::Pem { path: path.display().to_string(), what };
        let (cert_text, key_text) = (read(cert)?, read(key)?);
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(cert_text.as_bytes()).collect();
        let chain = chain.ok().filter(|chain| !chain.is_empty()).ok_or_else(|| pem(cert, "certificate"))?;
        let key = PrivateKeyDer::from_pem_slice(key_text.as_bytes()).map_err(|_| pem(key, "private key"))?;
        Self::of(chain, key, None)
    }

    /// TLS with a certificate for these names, signed by the authority of this folder.
    pub fn local(folder: &Path, names: Vec<String>, now: Timestamp) -> Result<Self, TlsError> {
        let (authority, issuer) = load_authority(folder, now)?;
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name = named("Longshore hub");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        valid(&mut params, now, DAYS);
        let key = KeyPair::generate()?;
        let cert = params.signed_by(&key, &issuer)?;
        let root = CertificateDer::from_pem_slice(authority.pem.as_bytes());
        let root = root.map_err(|_| TlsError::Pem { path: CERT.to_owned(), what: "certificate" })?;
        let key = PrivatePkcs8KeyDer::from(key.serialize_der());
        Self::of(vec![cert.der().clone(), root], key.into(), Some(authority))
    }

    fn of(
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
        authority: Option<Authority>,
    ) -> Result<Self, TlsError> {
        let fingerprint = chain.first().map(|cert| fingerprint(cert)).unwrap_or_default();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let mut config = config.with_no_client_auth().with_single_cert(chain, key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)), fingerprint, authority })
    }
}

/// The SHA-256 of a certificate, in hex.
pub fn fingerprint(certificate: &[u8]) -> String {
    HEXLOWER.encode(digest::digest(&digest::SHA256, certificate).as_ref())
}

const CERT: &str = "ca.pem";
const KEY: &str = "ca.key";

/// The authority of a folder, which is made if it is missing.
fn load_authority(folder: &Path, now: Timestamp) -> Result<(Authority, Issuer<'static, KeyPair>), TlsError> {
    let (cert, key) = (folder.join(CERT), folder.join(KEY));
    let params = authority_params(now)?;
    let no_pem = |path: &Path, what| TlsError::Pem { path: path.display().to_string(), what };
    let (pem, key) = match (read_own(&cert)?, read_own(&key)?) {
        (Some(pem), Some(text)) => (pem, KeyPair::from_pem(&text).map_err(|_| no_pem(&key, "private key"))?),
        // One without the other is of no use.
        (None, _) | (_, None) => {
            let fresh = KeyPair::generate()?;
            let pem = params.self_signed(&fresh)?.pem();
            write_own(&key, &fresh.serialize_pem())?;
            write_own(&cert, &pem)?;
            (pem, fresh)
        }
    };
    let der = CertificateDer::from_pem_slice(pem.as_bytes());
    let der = der.map_err(|_| no_pem(&cert, "certificate"))?;
    let authority = Authority { fingerprint: fingerprint(&der), pem };
    // It signs by its name and its key, which are the same at every start.
    Ok((authority, Issuer::new(params, key)))
}

fn authority_params(now: Timestamp) -> Result<CertificateParams, TlsError> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name = named("Longshore authority of this machine");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    valid(&mut params, now, 3_650);
    Ok(params)
}

fn named(name: &str) -> DistinguishedName {
    let mut named = DistinguishedName::new();
    named.push(DnType::CommonName, name);
    named
}

/// Sets the validity: from yesterday, because clocks differ, for [`DAYS`].
fn valid(params: &mut CertificateParams, now: Timestamp, days: i64) {
    let day = |after: i64| {
        // RFC 3339 begins with year, month and day.
        let text = now.plus_millis(after * DAY_MS).to_string();
        let mut parts = text.split(['-', 'T']).map(|part| part.parse::<u16>().unwrap_or(1));
        let mut next = || parts.next().unwrap_or(1);
        let (year, month, day) = (next(), next(), next());
        date_time_ymd(i32::from(year), month as u8, day as u8)
    };
    params.not_before = day(-1);
    params.not_after = day(days);
}

fn read(path: &Path) -> Result<String, TlsError> {
    std::fs::read_to_string(path).map_err(|source| of_file(path, source))
}

/// A file of the authority, if it exists.
fn read_own(path: &Path) -> Result<Option<String>, TlsError> {
    let bytes = key_file::read(path).map_err(|source| of_file(path, source))?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

fn write_own(path: &Path, text: &str) -> Result<(), TlsError> {
    key_file::put(path, text.as_bytes()).map_err(|source| of_file(path, source))
}

fn of_file(path: &Path, source: std::io::Error) -> TlsError {
    TlsError::File { path: path.display().to_string(), source }
}
