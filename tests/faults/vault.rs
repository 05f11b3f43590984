//! A vault or its key that is lost or replaced: said clearly, nothing destroyed, and all is well once it is back.

use crate::{played::Played, records, refusal::serve_refused};
use std::{fs, path::Path};

/// Takes files away, sees the refusal, puts them back, and sees that nothing was lost.
async fn away(names: &[&str], put: Option<&[u8]>, words: &[&str]) {
    let played = Played::new().await;
    let data = &played.stopped.data;
    let aside = data.parent().unwrap().join("aside");
    fs::create_dir_all(&aside).unwrap();
    let vault_before = fs::read(data.join("vault.db")).unwrap();
    for name in names {
        fs::rename(data.join(name), aside.join(name)).unwrap();
        if let Some(bytes) = put {
            fs::write(data.join(name), bytes).unwrap();
        }
    }
    // However often somebody tries.
    for _ in 0..2 {
        serve_refused(data).assert_says(words);
        for name in names {
            let made = fs::read(data.join(name)).ok();
            assert!(put.is_some() || made.is_none(), "{name} was made anew");
        }
    }
    for name in names {
        fs::rename(aside.join(name), data.join(name)).unwrap();
    }
    assert!(fs::read(data.join("vault.db")).unwrap() == vault_before, "the vault was touched");
    played.assert_whole().await;
}

#[tokio::test]
async fn a_replaced_vault_key_is_refused_and_nothing_is_lost() {
    away(&["vault.key"], Some(&[7; 32]), &["does not open", "was the key file replaced?"]).await;
}

#[tokio::test]
async fn a_vault_key_of_another_length_is_refused_and_nothing_is_lost() {
    away(&["vault.key"], Some(b"short"), &["vault.key", "must hold exactly 32 bytes"]).await;
}

#[tokio::test]
async fn a_lost_vault_key_is_not_drawn_anew_over_a_vault_that_it_opened() {
    away(&["vault.key"], None, &["vault.key", "put it back"]).await;
}

#[tokio::test]
async fn a_lost_vault_is_not_made_anew_beside_a_journal_whose_texts_it_opened() {
    away(&["vault.db"], None, &["vault.db", "is missing", "put it back"]).await;
    away(&["vault.db", "vault.key"], None, &["is missing", "put it back"]).await;
}

#[tokio::test]
async fn a_garbled_vault_is_refused_and_nothing_is_lost() {
    away(&["vault.db"], Some(&[0x5a; 9_000]), &["the vault cannot be opened"]).await;
}

#[tokio::test]
async fn keys_of_agents_are_not_swept_away_where_the_journal_is_lost() {
    let played = Played::new().await;
    let data = &played.stopped.data;
    let (file, aside) = (records::file(data), data.parent().unwrap().join("aside"));
    fs::create_dir_all(&aside).unwrap();
    let vault = fs::read(data.join("vault.db")).unwrap();
    let name = Path::new(file.file_name().unwrap()).to_owned();
    fs::rename(&file, aside.join(&name)).unwrap();
    fs::rename(data.join("views"), aside.join("views")).unwrap();
    for _ in 0..2 {
        serve_refused(data).assert_says(&["has no record", "put the journal back"]);
    }
    assert!(fs::read(data.join("vault.db")).unwrap() == vault, "the vault was touched");
    fs::rename(aside.join(&name), &file).unwrap();
    played.assert_whole().await;
}
