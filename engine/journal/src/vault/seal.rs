//! Boxes: how bytes are sealed for a name, and opened again.

use chacha20poly1305::{
    KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, Payload},
};
use zeroize::Zeroizing;

const NONCE_BYTES: usize = 24;

/// Bytes of the system's randomness.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the system has randomness; without it nothing here is safe to do");
    bytes
}

/// Seals `plain` for `name` under a random nonce, which stands before the box.
pub fn seal_with(key: &[u8; 32], name: &[u8], plain: &[u8]) -> Vec<u8> {
    let nonce: [u8; NONCE_BYTES] = random();
    let cipher = XChaCha20Poly1305::new(&(*key).into());
    let boxed = cipher
        .encrypt(&XNonce::from(nonce), Payload { msg: plain, aad: name })
        .expect("what is sealed here is far below the cipher's limit");
    let mut sealed = Vec::with_capacity(NONCE_BYTES + boxed.len());
    sealed.extend_from_slice(&nonce);
    sealed.extend_from_slice(&boxed);
    sealed
}

/// Opens what [`seal_with`] sealed for the same name; `None` where it is anything else.
pub fn unseal_with(key: &[u8; 32], name: &[u8], sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let (nonce, boxed) = sealed.split_first_chunk::<NONCE_BYTES>()?;
    let cipher = XChaCha20Poly1305::new(&(*key).into());
    cipher.decrypt(&XNonce::from(*nonce), Payload { msg: boxed, aad: name }).ok().map(Zeroizing::new)
}
