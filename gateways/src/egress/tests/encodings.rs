//! Bodies that come encoded though we ask for none. The cap counts what they decode to. AA-025, AA-034.
//! The encoders are by hand and only as good as they need to be.

use super::{CAP, Server, answer, dev, fault, post, reply};
use crate::egress::Fault;

/// Bits, least significant first, as deflate and brotli lay them.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    used: u32,
}

impl Bits {
    fn push(&mut self, value: u32, count: u32) {
        for bit in 0..count {
            if self.used.is_multiple_of(8) {
                self.bytes.push(0);
            }
            let last = self.bytes.len() - 1;
            self.bytes[last] |= ((value >> bit & 1) as u8) << (self.used % 8);
            self.used += 1;
        }
    }

    /// A Huffman code, which deflate lays most significant bit first.
    fn code(&mut self, value: u32, count: u32) {
        for bit in (0..count).rev() {
            self.push(value >> bit, 1);
        }
    }
}

/// One stored block of deflate.
fn stored(body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len()).unwrap();
    [&[1][..], &length.to_le_bytes(), &(!length).to_le_bytes(), body].concat()
}

/// Deflate for that many zero bytes, at least 1, 13 bits for each 258.
fn zeros(length: usize) -> Vec<u8> {
    let mut bits = Bits::default();
    bits.push(0b011, 3);
    bits.code(0x30, 8);
    for _ in 0..(length - 1) / 258 {
        bits.code(0b1100_0101, 8);
        bits.code(0, 5);
    }
    for _ in 0..(length - 1) % 258 {
        bits.code(0x30, 8);
    }
    bits.code(0, 7);
    bits.bytes
}

fn gzip(deflated: &[u8], body: &[u8]) -> Vec<u8> {
    let mut crc = u32::MAX;
    for &byte in body {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
        }
    }
    let length = u32::try_from(body.len()).unwrap();
    [&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255], deflated, &(!crc).to_le_bytes(), &length.to_le_bytes()].concat()
}

fn zlib(deflated: &[u8], body: &[u8]) -> Vec<u8> {
    let (mut a, mut b) = (1_u32, 0_u32);
    for &byte in body {
        a = (a + u32::from(byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    [&[0x78, 0x01], deflated, &(b << 16 | a).to_be_bytes()].concat()
}

/// One uncompressed block of brotli and its empty last one.
fn brotli(body: &[u8]) -> Vec<u8> {
    let mut bits = Bits::default();
    bits.push(0, 1);
    bits.push(0, 1);
    bits.push(0, 2);
    bits.push(u32::try_from(body.len() - 1).unwrap(), 16);
    bits.push(1, 1);
    [&bits.bytes[..], body, &[0b11]].concat()
}

async fn came(encoding: &str, body: &[u8]) -> crate::egress::Exchange {
    let server =
        Server::answering(answer("200 OK", &format!("content-encoding: {encoding}\r\n"), body)).await;
    post(&dev(), &server.url()).await
}

#[tokio::test]
async fn encoded_bodies_are_decoded() {
    let body = br#"{"move":"d","nonce":"7f3a"}"#;
    for (encoding, bytes) in [
        ("gzip", gzip(&stored(body), body)),
        ("deflate", zlib(&stored(body), body)),
        ("br", brotli(body)),
        ("identity", body.to_vec()),
    ] {
        assert_eq!(reply(came(encoding, &bytes).await), (200, body.to_vec(), false), "{encoding}");
    }
}

#[tokio::test]
async fn the_cap_counts_after_decoding() {
    for (length, too_large) in [(CAP, false), (CAP + 1, true)] {
        let body = vec![0; length];
        for (encoding, bytes) in [
            ("gzip", gzip(&zeros(length), &body)),
            ("gzip", gzip(&stored(&body), &body)),
            ("deflate", zlib(&zeros(length), &body)),
            ("br", brotli(&body)),
        ] {
            let (_, got, cut) = reply(came(encoding, &bytes).await);
            assert_eq!((got.len(), cut), (length.min(CAP), too_large), "{encoding} {length}");
        }
    }
}

#[tokio::test]
async fn a_bomb_stops_at_the_cap() {
    // 256 MiB of zeros in 1.7 MB. Its checksum is wrong, and nobody gets that far.
    let bomb = gzip(&zeros(1 << 28), b"");
    let (status, body, too_large) = reply(came("gzip", &bomb).await);
    assert_eq!((status, body.len(), too_large), (200, CAP, true));
}

#[tokio::test]
async fn a_body_in_an_encoding_that_we_do_not_know_is_left_as_it_is() {
    for encoding in ["zstd", "compress", "gzip, br", "x"] {
        assert_eq!(
            reply(came(encoding, b"\x28\xb5{}").await),
            (200, b"\x28\xb5{}".to_vec(), false),
            "{encoding}"
        );
    }
}

#[tokio::test]
async fn a_corrupt_body_is_a_fault_of_transport() {
    let body = b"{}";
    let whole = gzip(&stored(body), body);
    let mut wrong_sum = whole.clone();
    wrong_sum[18] ^= 1;
    for (encoding, bytes) in [
        ("gzip", b"{\"move\":\"d\"}".to_vec()),
        ("gzip", wrong_sum),
        ("gzip", whole[..whole.len() - 9].to_vec()),
        ("deflate", b"{}{}{}".to_vec()),
        ("br", vec![0xff; 40]),
        ("br", brotli(b"{\"move\":\"d\"}")[..6].to_vec()),
    ] {
        assert_eq!(fault(came(encoding, &bytes).await), Fault::Transport, "{encoding} {bytes:?}");
    }
}
