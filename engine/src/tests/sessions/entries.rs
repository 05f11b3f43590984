//! Sending: entries are numbered from 1 without gaps, joining and leaving among them.

use super::check;
use expect_test::expect;

#[test]
fn whoever_is_in_sends_and_the_numbers_have_no_gaps() {
    check(
        "
        ~10:00:00 a create s1
        10:00:01 a join s1 luis account=luis
        10:00:02 a send s1 luis
                & a send s1 luis size=0 file=8
                & a join s1 anna
                & a send s1 anna
        10:00:03 a leave s1 luis
                & a send s1 anna
        10:00:04 a rejoin s1 luis
        10:00:05 a send s1 luis
        ",
        expect![[r#"
            5.1 a#2 s1 luis@1 joined: n 1, account luis
            6.1 a#3 s1 luis@1 sent: n 2, type text of 10, 6 bytes, account luis
            6.2 a#4 s1 luis@1 sent: n 3, type text of 10, 0 bytes, account luis, file name text of 8
            6.3 a#5 s1 anna@2 joined: n 4, account none
            6.4 a#6 rejected: unknown_participant
            7.1 a#7 s1 luis@1 left: n 5, account luis
            7.2 a#8 s1 anna@2 sent: n 6, type text of 10, 6 bytes, account none
            8.1 a#9 s1 luis@1 joined again: n 7, account none
            9.1 a#10 s1 luis@1 sent: n 8, type text of 10, 6 bytes, account none
        "#]],
    );
}

#[test]
fn whoever_left_or_never_joined_sends_nothing() {
    check(
        "
        ~10:00:00 a create s1
        ~10:00:01 a join s1 luis
        ~10:00:02 a join s1 anna
        10:00:03 a leave s1 luis
        10:00:04 a send s1 luis
        10:00:05 a send s1 @7
        10:00:06 a send s2 @1
        ",
        expect![[r#"
            7.1 a#4 s1 luis@1 left: n 3, account none
            8.1 a#5 rejected: not_in
            9.1 a#6 rejected: unknown_participant
            10.1 a#7 rejected: session_gone
        "#]],
    );
}

#[test]
fn a_payload_beyond_64_kb_is_an_object_and_none_is_beyond_10_mb() {
    check(
        "
        ~10:00:00 a create s1
        ~10:00:01 a join s1 luis
        10:00:02 a send s1 luis size=65536
        10:00:03 a send s1 luis size=65536 object
        10:00:04 a send s1 luis size=65537
        10:00:05 a send s1 luis size=65537 object
        10:00:06 a send s1 luis size=10000000 object
        10:00:07 a send s1 luis size=10000001 object
        10:00:08 a send s1 luis type=256 file=256
        10:00:09 a send s1 luis type=257
        10:00:10 a send s1 luis type=0
        10:00:11 a send s1 luis file=257
        10:00:12 a send s1 luis file=0
        ",
        expect![[r#"
            6.1 a#3 s1 luis@1 sent: n 2, type text of 10, 65536 bytes, account none
            7.1 a#4 rejected: invalid_entry
            8.1 a#5 rejected: invalid_entry
            9.1 a#6 s1 luis@1 sent: n 3, type text of 10, 65537 bytes, account none, an object
            10.1 a#7 s1 luis@1 sent: n 4, type text of 10, 10000000 bytes, account none, an object
            11.1 a#8 rejected: invalid_entry
            12.1 a#9 s1 luis@1 sent: n 5, type text of 256, 6 bytes, account none, file name text of 256
            13.1 a#10 rejected: invalid_entry
            14.1 a#11 rejected: invalid_entry
            15.1 a#12 rejected: invalid_entry
            16.1 a#13 rejected: invalid_entry
        "#]],
    );
}
