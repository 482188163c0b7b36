//! The connection to a hub: TCP, with TLS if the hub uses it.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use longshore_facades::tls::fingerprint;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// A connection of any kind.
pub trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// Which hubs to trust.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    /// A hub whose certificate has this SHA-256, whatever its name: a hub of this machine records it in a
    /// file that only its owner can read.
    pub fingerprint: Option<String>,
    /// A hub with a certificate of this authority, besides the public authorities.
    pub authority: Option<PathBuf>,
}

/// The hub does not prove its identity.
#[derive(Debug, thiserror::Error)]
#[error("cannot trust the hub's certificate: {fault}")]
pub struct Untrusted {
    fault: std::io::Error,
}

impl Untrusted {
    /// Whether the only fault is an unknown authority of the certificate.
    pub fn is_of_unknown_authority(&self) -> bool {
        let of_tls = self.fault.get_ref().and_then(|fault| fault.downcast_ref::<rustls::Error>());
        of_tls == Some(&rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer))
    }
}

/// Connects to `host:port`, with TLS if asked for.
pub(crate) async fn connect(host: &str, port: u16, tls: Option<&Trust>) -> Result<Box<dyn Wire>> {
    let stream = TcpStream::connect((host.trim_matches(['[', ']']), port)).await?;
    stream.set_nodelay(true)?;
    let Some(trust) = tls else { return Ok(Box::new(stream)) };
    let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned())
        .context("the hub's host name is not valid; check LONGSHORE_URL")?;
    let connector = TlsConnector::from(Arc::new(config(trust)?));
    let stream = connector.connect(name, stream).await;
    Ok(Box::new(stream.map_err(|fault| Untrusted { fault })?))
}

fn config(trust: &Trust) -> Result<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
    if let Some(fingerprint) = &trust.fingerprint {
        let pinned = Pinned { fingerprint: fingerprint.clone(), provider };
        let dangerous = builder.dangerous().with_custom_certificate_verifier(Arc::new(pinned));
        return Ok(dangerous.with_no_client_auth());
    }
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if let Some(path) = &trust.authority {
        let read = CertificateDer::from_pem_file(path);
        roots.add(read.map_err(|error| anyhow!("{}: {error}", path.display()))?)?;
    }
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// Believes one certificate, by its hash.
#[derive(Debug)]
struct Pinned {
    fingerprint: String,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match fingerprint(certificate) == self.fingerprint {
            true => Ok(ServerCertVerified::assertion()),
            false => Err(CertificateError::ApplicationVerificationFailure.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
