//! Doors in front of an agent: TLS with a certificate of the test's own, or something that is no TLS.

use arena_tests::Agent;
use rcgen::{CertifiedKey, KeyPair};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer},
};

/// A door at an https URL.
pub(crate) struct Door {
    /// Its port.
    pub(crate) port: u16,
    connections: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

/// A self-signed certificate for a host.
pub(crate) fn certificate(host: &str) -> CertifiedKey<KeyPair> {
    rcgen::generate_simple_self_signed(vec![host.to_owned()]).expect("a certificate")
}

impl Door {
    /// Ends TLS with this certificate and passes everything on to the agent.
    pub(crate) async fn tls(key: &CertifiedKey<KeyPair>, agent: &Agent) -> Self {
        let private = PrivateKeyDer::Pkcs8(key.signing_key.serialize_der().into());
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the defaults")
            .with_no_client_auth()
            .with_single_cert(vec![key.cert.der().clone()], private)
            .expect("the key is the certificate's");
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let behind = agent.url.trim_start_matches("http://").trim_end_matches("/play").to_owned();
        Self::opening(move |stream| {
            let (acceptor, behind) = (acceptor.clone(), behind.clone());
            async move {
                let Ok(mut outer) = acceptor.accept(stream).await else { return };
                let Ok(mut inner) = TcpStream::connect(behind).await else { return };
                let _ = tokio::io::copy_bidirectional(&mut outer, &mut inner).await;
            }
        })
        .await
    }

    /// Answers whatever comes with these bytes, once it has come.
    pub(crate) async fn saying(bytes: &'static [u8]) -> Self {
        Self::opening(move |mut stream| async move {
            let mut part = [0; 4_096];
            if stream.read(&mut part).await.is_ok_and(|count| count > 0) {
                let _ = stream.write_all(bytes).await;
                let _ = stream.shutdown().await;
                // Not a reset while the other side still sends.
                while stream.read(&mut part).await.is_ok_and(|count| count > 0) {}
            }
        })
        .await
    }

    async fn opening<F: Future<Output = ()> + Send>(
        serve: impl Fn(TcpStream) -> F + Send + Clone + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let connections = Arc::<AtomicUsize>::default();
        let counted = Arc::clone(&connections);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                let serve = serve.clone();
                tokio::spawn(async move { serve(stream).await });
            }
        });
        Self { port, connections, task }
    }

    /// Its URL at this host.
    pub(crate) fn url(&self, host: &str) -> String {
        format!("https://{host}:{}/play", self.port)
    }

    /// How many connections came.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.task.abort();
    }
}
