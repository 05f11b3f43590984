//! The table from the text's sentences to tests: that each row names a test there is, and that the text has what a row quotes.

use super::printed_words::text;
use std::{collections::BTreeSet, fs, path::PathBuf};

struct Row {
    section: String,
    words: String,
    /// `file::test`; none where the sentence says nothing that happens.
    tests: Vec<String>,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("end_to_end/agentwire")
}

fn rows() -> Vec<Row> {
    let table = fs::read_to_string(folder().join("sentences.md")).unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| ")).skip(1);
    rows.map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [section, words, tests] = cells[..] else { panic!("three cells: {line}") };
        let tests = tests.split(", ").filter(|test| *test != "–").map(str::to_owned).collect();
        Row { section: section.to_owned(), words: words.to_owned(), tests }
    })
    .collect()
}

/// `file::test` of every test of this folder.
fn tests() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|kind| kind != "rs") {
            continue;
        }
        let file = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let source = fs::read_to_string(&path).unwrap();
        let mut marked = false;
        for line in source.lines() {
            let name = line.trim_start_matches("async ").strip_prefix("fn ");
            if let (true, Some(name)) = (marked, name) {
                found.insert(format!("{file}::{}", name.split('(').next().unwrap()));
            }
            marked = line.starts_with("#[test") || line.starts_with("#[tokio::test");
        }
    }
    found
}

/// A section's sentences, in one line each, code blocks left out.
fn sentences(text: &str) -> Vec<(String, String)> {
    let (mut section, mut paragraph, mut in_code) = ("agentwire".to_owned(), String::new(), false);
    let mut all = Vec::new();
    let mut end = |section: &str, paragraph: &mut String| {
        let whole = std::mem::take(paragraph);
        let mut rest = whole.trim();
        while !rest.is_empty() {
            let stop = rest.match_indices(". ").map(|(at, _)| at + 1);
            let next = |at: &usize| rest[at + 1..].starts_with(|c: char| c.is_uppercase() || c == '`');
            let at = stop.into_iter().find(next).unwrap_or(rest.len());
            all.push((section.to_owned(), rest[..at].trim().to_owned()));
            rest = rest[at..].trim_start();
        }
    };
    for line in text.lines() {
        if line.starts_with("```") {
            end(&section, &mut paragraph);
            in_code = !in_code;
        } else if in_code {
        } else if let Some(heading) = line.strip_prefix('#') {
            end(&section, &mut paragraph);
            heading.trim_start_matches('#').trim().clone_into(&mut section);
        } else {
            if line.is_empty() || line.starts_with("- ") {
                end(&section, &mut paragraph);
            }
            paragraph = format!("{paragraph} {}", line.trim_start_matches("- ").trim());
        }
    }
    end(&section, &mut paragraph);
    all
}

#[test]
fn each_row_names_tests_there_are() {
    let tests = tests();
    let rows = rows();
    assert!(rows.len() > 100, "the table is read: {} rows", rows.len());
    for row in &rows {
        for test in &row.tests {
            assert!(
                tests.contains(test),
                "no test {test}, which stands for {:?} in {:?}",
                row.words,
                row.section
            );
        }
    }
}

#[test]
fn each_sentence_of_the_text_has_a_row_and_each_row_its_words() {
    let Some(text) = text() else { return };
    let sentences = sentences(&text);
    let rows = rows();
    for row in &rows {
        let here =
            |(section, sentence): &(String, String)| *section == row.section && sentence.contains(&row.words);
        assert!(sentences.iter().any(here), "{:?} does not stand in {:?}", row.words, row.section);
    }
    let has_row = |section: &str, sentence: &str| {
        rows.iter().any(|row| row.section == section && sentence.contains(&row.words))
    };
    let without: Vec<_> =
        sentences.iter().filter(|(section, sentence)| !has_row(section, sentence)).collect();
    assert!(without.is_empty(), "sentences without a row:\n{without:#?}");
}
