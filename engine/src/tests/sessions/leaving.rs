//! Leaving, and what the last one out leaves behind.

use super::check;
use expect_test::expect;

#[test]
fn leaving_is_an_entry_and_leaving_twice_does_nothing() {
    check(
        "
        ~10:00:00 a create s1
        ~10:00:01 a join s1 luis account=luis
        ~10:00:02 a join s1 anna
        10:00:03 a leave s1 luis
        10:00:04 a leave s1 luis
        10:00:05 a leave s1 @7
        ",
        expect![[r#"
            7.1 a#4 s1 luis@1 left: n 3, account luis
            9.1 a#6 rejected: unknown_participant
        "#]],
    );
}

#[test]
fn the_last_one_out_ends_the_session_and_its_link_leads_nowhere() {
    check(
        "
        ~10:00:00 a create s1
        ~10:00:01 a join s1 luis
        ~10:00:02 a join s1 anna
        10:00:03 a leave s1 anna
        10:00:04 a leave s1 luis
        10:00:05 a leave s1 luis
        10:00:06 a join s1 eva
        10:00:07 a rejoin s1 @1
        10:00:08 a send s1 @1
        10:00:09 a read s1 @1:1
        10:00:10 a touch s1
        10:00:11 a answer s1 keep
        10:00:12 a account s1 @1
        10:00:13 a create s1
        10:00:14 a join s1 eva
        30d10:00:00 tick
        ",
        expect![[r#"
            7.1 a#4 s1 anna@2 left: n 3, account none
            8.1 a#5 s1 luis@1 left: n 4, account none
            8.1 a#5 s1 ended: everyone_left, cleared by a
            9.1 a#6 rejected: session_gone
            10.1 a#7 rejected: session_gone
            11.1 a#8 rejected: session_gone
            12.1 a#9 rejected: session_gone
            13.1 a#10 rejected: session_gone
            14.1 a#11 rejected: session_gone
            15.1 a#12 rejected: session_gone
            16.1 a#13 rejected: session_gone
            17.1 a#14 s1 created
            18.1 a#15 s1 eva@1 joined: n 1, account none
            19.0 s1 ended: nobody_received, cleared by a
        "#]],
    );
}

#[test]
fn of_an_owned_session_its_service_is_asked_and_all_that_was_said_stays_while_it_is_kept() {
    check(
        "
        ~10:00:00 a create s1 owned
        ~10:00:01 a join s1 luis account=luis
        ~10:00:02 a join s1 anna
        ~10:00:03 a read s1 luis:2
        10:00:04 a leave s1 anna
        10:00:05 a leave s1 luis
        10:00:06 a answer s1 keep
        10:00:07 a join s1 luis secret=2
        10:00:08 a rejoin s1 luis keeps
        10:00:09 a read s1 luis:4
        10:00:10 a leave s1 luis
        10:00:11 a answer s1 delete
        10:00:12 a rejoin s1 luis
        ",
        expect![[r#"
            8.1 a#5 s1 anna@2 left: n 3, account none
            9.1 a#6 s1 luis@1 left: n 4, account luis
            9.1 a#6 s1 asked about: attempt 1 by a, everyone_left
            10.1 a#7 s1 attempt 1: keep, again 1d10:00:06.000
            11.1 a#8 rejected: session_name_taken
            12.1 a#9 s1 luis@1 joined again: n 5, account luis
            13.1 a#10 s1 read: luis@1 4
            14.1 a#11 s1 luis@1 left: n 6, account luis
            14.1 a#11 s1 asked about: attempt 2 by a, everyone_left
            15.1 a#12 s1 ended: everyone_left, cleared by a
            16.1 a#13 rejected: session_gone
        "#]],
    );
}
