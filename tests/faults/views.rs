//! Views that are lost or damaged while nobody serves: built again from the journal, and nobody sees a difference.

use crate::played::Played;
use std::{
    fs::{self, OpenOptions},
    io::{Seek, SeekFrom, Write},
    path::PathBuf,
};

fn view_files(played: &Played) -> Vec<PathBuf> {
    let folder = fs::read_dir(played.stopped.data.join("views")).unwrap();
    let files: Vec<PathBuf> = folder
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "db"))
        .collect();
    assert!(files.len() >= 2, "{files:?}");
    files
}

#[tokio::test]
async fn a_lost_folder_of_views_is_built_again_and_shows_the_same() {
    let played = Played::new().await;
    fs::remove_dir_all(played.stopped.data.join("views")).unwrap();
    played.assert_whole().await;
}

#[tokio::test]
async fn each_view_that_is_lost_is_built_again_and_shows_the_same() {
    let played = Played::new().await;
    for file in view_files(&played) {
        fs::remove_file(file).unwrap();
        let arena = played.stopped.start();
        played.assert_shown(&arena).await;
        arena.stop();
    }
    played.assert_whole().await;
}

#[tokio::test]
async fn a_garbled_view_is_built_again_and_shows_the_same() {
    let played = Played::new().await;
    for file in view_files(&played) {
        // Not SQLite at all; then torn in its middle; then of no length.
        fs::write(&file, b"this is no database, whatever its name says").unwrap();
        let arena = played.stopped.start();
        played.assert_shown(&arena).await;
        arena.stop();
        let length = fs::metadata(&file).unwrap().len();
        let mut torn = OpenOptions::new().write(true).open(&file).unwrap();
        torn.seek(SeekFrom::Start(length / 2)).unwrap();
        torn.write_all(&vec![0xa5; usize::try_from(length / 2).unwrap()]).unwrap();
        drop(torn);
        let arena = played.stopped.start();
        played.assert_shown(&arena).await;
        arena.stop();
        fs::write(&file, b"").unwrap();
        let arena = played.stopped.start();
        played.assert_shown(&arena).await;
        arena.stop();
    }
    played.assert_whole().await;
}
