//! Creating, joining and joining again.

use super::check;
use expect_test::expect;

#[test]
fn a_session_is_created_empty_under_an_id_and_an_address_of_its_own() {
    check(
        "
        10:00:00 a create s1
        10:00:01 a create s2 owned
        10:00:02 a create s1 address=other
        10:00:03 a create s3 address=s1
        10:00:04 a create s4 partition=1
        ",
        expect![[r#"
            4.1 a#1 s1 created
            5.1 a#2 s2 created, owned
            6.1 a#3 rejected: session_id_taken
            7.1 a#4 rejected: session_address_taken
            8.1 a#5 rejected: wrong_partition
        "#]],
    );
}

#[test]
fn whoever_joins_has_a_number_of_its_own_and_its_join_is_an_entry() {
    check(
        "
        10:00:00 a create s1
        10:00:01 a join s1 luis
        10:00:02 a join s1 luis/claude account=luis
        10:00:03 a join s1 anna
        10:00:04 a join s2 luis
        ",
        expect![[r#"
            4.1 a#1 s1 created
            5.1 a#2 s1 luis@1 joined: n 1, account none
            6.1 a#3 s1 luis/claude@2 joined: n 2, account luis
            7.1 a#4 s1 anna@3 joined: n 3, account none
            8.1 a#5 rejected: session_gone
        "#]],
    );
}

#[test]
fn a_name_that_anyone_joined_under_before_is_taken_and_so_is_a_secret() {
    check(
        "
        10:00:00 a create s1
        10:00:01 a join s1 luis
        10:00:02 a join s1 luis secret=another
        10:00:03 a join s1 anna
        10:00:04 a leave s1 luis
        10:00:05 a join s1 luis secret=another
        10:00:06 a join s1 eva secret=link_of_eva
        10:00:07 a join s1 ida secret=link_of_eva
        ~10:00:08 a create s2
        10:00:09 a join s2 luis
        ",
        expect![[r#"
            4.1 a#1 s1 created
            5.1 a#2 s1 luis@1 joined: n 1, account none
            6.1 a#3 rejected: session_name_taken
            7.1 a#4 s1 anna@2 joined: n 2, account none
            8.1 a#5 s1 luis@1 left: n 3, account none
            9.1 a#6 rejected: session_name_taken
            10.1 a#7 s1 eva@3 joined: n 4, account none
            11.1 a#8 rejected: session_secret_taken
            13.1 a#10 s2 luis@1 joined: n 1, account none
        "#]],
    );
}

#[test]
fn joining_again_after_leaving_keeps_the_name_and_the_read_position() {
    check(
        "
        ~10:00:00 a create s1
        ~10:00:01 a join s1 luis
        ~10:00:02 a join s1 anna
        ~10:00:03 a read s1 luis:2
        10:00:04 a leave s1 luis
        10:00:05 a rejoin s1 luis account=luis
        10:00:06 a read s1 luis:2
        10:00:07 a read s1 luis:4
        10:00:08 a rejoin s1 @9
        10:00:09 a rejoin s2 @1
        ",
        expect![[r#"
            8.1 a#5 s1 luis@1 left: n 3, account none
            9.1 a#6 s1 luis@1 joined again: n 4, account luis
            11.1 a#8 s1 read: luis@1 4
            12.1 a#9 rejected: unknown_participant
            13.1 a#10 rejected: session_gone
        "#]],
    );
}

#[test]
fn joining_again_while_in_changes_nothing_but_the_account() {
    check(
        "
        ~10:00:00 a create s1
        ~10:00:01 a join s1 luis account=luis
        10:00:02 a rejoin s1 luis account=luis
        10:00:03 a rejoin s1 luis keeps
        10:00:04 a rejoin s1 luis account=anna keeps
        10:00:05 a rejoin s1 luis account=anna
        10:00:06 a rejoin s1 luis
        10:00:07 a rejoin s1 luis
        10:00:08 a send s1 luis
        ",
        expect![[r#"
            9.1 a#6 s1 luis@1 has account anna
            10.1 a#7 s1 luis@1 has account none
            12.1 a#9 s1 luis@1 sent: n 2, type text of 10, 6 bytes, account none
        "#]],
    );
}

#[test]
fn the_account_that_is_told_on_joining_again_replaces_the_one_before_unless_it_is_kept() {
    check(
        "
        ~10:00:00 a create s1
        ~10:00:01 a join s1 luis account=luis
        ~10:00:01.5 a join s1 anna
        ~10:00:02 a leave s1 luis
        10:00:03 a rejoin s1 luis keeps
        ~10:00:04 a leave s1 luis
        10:00:05 a rejoin s1 luis
        ~10:00:06 a leave s1 luis
        10:00:07 a rejoin s1 luis account=luis
        10:00:08 a account s1 luis account=luis:again
        10:00:08.5 a rejoin s1 luis account=luis:again
        10:00:09 a account s1 luis account=other
        10:00:10 a account s1 luis
        10:00:11 a account s1 @9
        10:00:12 a leave s1 luis
        10:00:13 a account s1 luis account=luis
        10:00:14 a account s2 luis
        ",
        expect![[r#"
            8.1 a#5 s1 luis@1 joined again: n 4, account luis
            10.1 a#7 s1 luis@1 joined again: n 6, account none
            12.1 a#9 s1 luis@1 joined again: n 8, account luis
            15.1 a#12 s1 luis@1 has account other
            16.1 a#13 s1 luis@1 has account none
            17.1 a#14 rejected: unknown_participant
            18.1 a#15 s1 luis@1 left: n 9, account none
            19.1 a#16 s1 luis@1 has account luis
            20.1 a#17 rejected: session_gone
        "#]],
    );
}
