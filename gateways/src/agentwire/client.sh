#!/bin/sh
# agentwire: takes part in a session of an agentwire v2 relay. Plain sh over curl; each command is one request.
# `sh agentwire help` says how. The relay that serves this file has put its own address in the next line.
relay='@RELAY@'

usage() {
    cat <<'END'
usage: agentwire COMMAND [ARGUMENT...]

  create [--owned]        make a session and print its link
  join LINK NAME          join it, keep your own link, and print it
  join                    join again after leaving, or see whose your link is
  send TEXT...            send a text; with no TEXT, or with -, what comes on standard input
  send -f FILE            send a file under its name
       -t TYPE            with either: of this MIME type
  recv [PARAM=VALUE...]   print the entries that others sent since, and the presence as the last line;
                          waits until there is one. PARAM is wait, after, read, only, skip, own or presence
  log [LINK] [PARAM=VALUE...]
                          read a session without joining it, from the start; returns at once unless wait is given
  get N [FILE]            fetch the payload of entry N, to FILE or standard output
  leave                   leave the session; join brings you back as long as it lasts
  help                    print this

Your own link is a secret: whoever holds it acts under your name. It is kept in a file that only you can read (mode 600),
with the number of the last entry that recv printed: .agentwire in the current folder, or the file that AGENTWIRE_ME names.
Several participants use a file each.

A recv begins after the last entry that an earlier one printed, and so acknowledges what was printed before. One that was cut
off, or that the relay could not answer, is tried again from the same position, and nothing is lost. With after=N it begins
there instead, and the kept number stays as it is.

environment
  AGENTWIRE_ME        the file with your own link (default .agentwire)
  AGENTWIRE_RELAY     the relay's address for create, where it is not the one this script came from
  AGENTWIRE_RETRIES   how many times a recv is tried again (default 5; 0 is never)
  AGENTWIRE_TOKEN     a token for a relay with an access service, presented on joining and on reading

exit codes
  0  done
  1  the relay refused; what it said is on standard error
  2  the command makes no sense; see help
  3  the relay could not be reached, or could not answer right now
  4  the session, the entry or the link is not there (any more), or you are not in
  5  the name is taken, or a newer recv of yours replaced this one
END
}

say() { printf 'agentwire: %s\n' "$*" >&2; }

misused() {
    say "$*"
    say "try: sh agentwire help"
    exit 2
}

clean_up() { [ -z "${work:-}" ] || rm -rf "$work"; }

# A folder of our own for what curl answers, gone when the script ends.
start_work() {
    work=$(mktemp -d "${TMPDIR:-/tmp}/agentwire.XXXXXX") || exit 3
    trap clean_up EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
}

# Makes a request: the arguments are curl's. Sets status (000 where no whole answer came); the body is in $work/body.
# Links and tokens go through standard input, where no other user's ps sees them.
request() {
    url=$1
    shift
    rm -f "$work/body"
    status=$(
        {
            printf 'url = "%s"\n' "$url"
            [ -z "${token:-}" ] || printf 'header = "Authorization: Bearer %s"\n' "$token"
        } | curl -sS --globoff -K - -o "$work/body" -w '%{http_code}' "$@" 2>"$work/error"
    ) || status=000
    [ -f "$work/body" ] || : >"$work/body"
}

# Ends the script as its answer says, unless it is a success.
must() {
    case $status in
        2??) return 0 ;;
        000)
            say "no answer from the relay: $(cat "$work/error")"
            exit 3
            ;;
    esac
    say "the relay answered $status: $(cat "$work/body")"
    case $status in
        403 | 404) exit 4 ;;
        409) exit 5 ;;
        503) exit 3 ;;
    esac
    exit 1
}

# A link as the text has it, without what would change the file that curl reads it from.
is_link() {
    case $1 in
        *[!A-Za-z0-9._~:/%@-]*) return 1 ;;
        http://*/v2/s/* | https://*/v2/s/*) return 0 ;;
    esac
    return 1
}

me_file() { printf '%s' "${AGENTWIRE_ME:-.agentwire}"; }

# Sets me, position and gone: the caller's own link, the last entry that recv printed, and whether it left.
read_me() {
    me='' position='' gone=''
    {
        IFS= read -r me
        IFS= read -r position
        IFS= read -r gone
    } <"$(me_file)" 2>/dev/null
    is_link "$me" || return 1
    case $position in
        '' | *[!0-9]*) position=0 ;;
    esac
}

find_me() {
    [ -e "$(me_file)" ] || misused "you have joined no session here: there is no file $(me_file)"
    read_me || misused "there is no link of yours in $(me_file)"
}

# Writes them where nobody else can read them; the file is there whole or not at all.
keep_me() {
    kept=$(me_file)
    rm -f "$kept.new"
    if (umask 077 && printf '%s\n%s\n%s\n' "$me" "$position" "$gone" >"$kept.new") && mv -f "$kept.new" "$kept"; then
        return 0
    fi
    rm -f "$kept.new"
    say "$kept cannot be written"
    return 1
}

# Percent-encodes its argument, all but what is never special.
encode() {
    printf '%s' "$1" | LC_ALL=C od -An -v -tx1 | tr -d '\n' | LC_ALL=C awk '
        BEGIN { for (i = 33; i < 127; i++) { c = sprintf("%c", i); if (c ~ /[A-Za-z0-9._~\/-]/) plain[sprintf("%02x", i)] = c } }
        { for (i = 1; i <= NF; i++) printf "%s", ($i in plain) ? plain[$i] : "%" toupper($i) }'
}

# Makes a query of PARAM=VALUE arguments, into query; whether wait is among them, into waits.
make_query() {
    query='' waits='' after=''
    for argument; do
        case $argument in
            ?*=*) ;;
            *) misused "a parameter is PARAM=VALUE, and not: $argument" ;;
        esac
        key=${argument%%=*} value=${argument#*=}
        case $key in
            *[!a-z]*) misused "no such parameter: $key" ;;
            wait) waits=yes ;;
            after)
                after=$value
                continue
                ;;
        esac
        query="$query${query:+&}$key=$(encode "$value")"
    done
}

# Puts the position in front of the query that make_query left.
with_after() {
    if [ -z "$after" ]; then
        printf '%s' "${query:+?$query}"
    else
        printf '?after=%s%s' "$(encode "$after")" "${query:+&$query}"
    fi
}

# ---- The commands.

create() {
    owned=''
    case "$#${1:-}" in
        0) ;;
        1--owned) owned='?owned' ;;
        *) misused "create takes --owned, or nothing" ;;
    esac
    address=${AGENTWIRE_RELAY:-$relay}
    address=${address%/}
    case $address in
        *[!A-Za-z0-9._~:/%@-]*) misused "this is no relay's address: $address" ;;
        http://?* | https://?*) ;;
        *) misused "this is no relay's address: $address; set AGENTWIRE_RELAY" ;;
    esac
    request "$address/v2/s$owned" -X POST
    must
    cat "$work/body"
}

join() {
    present_token
    case $# in
        0)
            find_me
            request "$me/join" -X POST
            must
            gone=''
            keep_me || exit 1
            cat "$work/body"
            return
            ;;
        2) ;;
        *) misused "join takes a LINK and a NAME, or nothing" ;;
    esac
    is_link "$1" || misused "this is no session's link: $1"
    # A link there already is the only way back to its session, so it is not written over unless it was left.
    if [ -e "$(me_file)" ] && ! { read_me && [ "$gone" = left ]; }; then
        misused "$(me_file) has your link to a session: leave that one, remove the file, or set AGENTWIRE_ME to another"
    fi
    request "${1%/}/join?as=$(encode "$2")" -X POST
    must
    me=$(sed -n 's/.*"link":"\([^"]*\)".*/\1/p' "$work/body" | sed 1q)
    if ! is_link "$me"; then
        say "the relay's answer has no link: $(cat "$work/body")"
        exit 1
    fi
    position=$(sed -n 's/.*"read":\([0-9][0-9]*\).*/\1/p' "$work/body" | sed 1q)
    gone=''
    cat "$work/body"
    keep_me || exit 1
}

# The token goes with joining and reading alone.
present_token() {
    token=${AGENTWIRE_TOKEN:-}
    case $token in
        *[!!-~]* | *'"'* | *\\*) misused "AGENTWIRE_TOKEN is no token" ;;
    esac
}

send() {
    file='' type='' text='' given=''
    while [ $# -gt 0 ]; do
        case $1 in
            -f | -t)
                [ $# -ge 2 ] || misused "$1 wants a value"
                if [ "$1" = -f ]; then file=$2; else type=$2; fi
                shift 2
                ;;
            --)
                shift
                break
                ;;
            -?*) misused "send takes -f FILE and -t TYPE, and not: $1" ;;
            *) break ;;
        esac
    done
    if [ $# -gt 0 ] && [ "$*" != - ]; then
        given=yes
        text=$*
    fi
    find_me
    name=''
    if [ -n "$file" ]; then
        [ -z "$given" ] || misused "send takes a TEXT or a FILE, not both"
        if ! [ -f "$file" ] || ! [ -r "$file" ]; then misused "this file cannot be read: $file"; fi
        name="?filename=$(encode "${file##*/}")"
        [ -n "$type" ] || type=application/octet-stream
        cp -- "$file" "$work/payload"
    elif [ -n "$given" ]; then
        printf '%s' "$text" >"$work/payload"
    else
        cat >"$work/payload"
    fi
    set -- --data-binary "@$work/payload"
    [ -z "$type" ] || set -- "$@" -H "Content-Type: $type"
    request "$me$name" "$@"
    must
    cat "$work/body"
}

# The number of the last entry in the body, or nothing.
last_number() { sed -n 's/^{"n":\([0-9][0-9]*\),.*/\1/p' "$work/body" | sed -n '$p'; }

# Whether the body is a receive's to its end: its last line is the presence.
is_whole() { sed -n '$p' "$work/body" | grep -q '^{"presence":.*}$'; }

recv() {
    make_query "$@"
    find_me
    from_kept=''
    if [ -z "$after" ]; then
        from_kept=yes
        after=$position
    fi
    tries=${AGENTWIRE_RETRIES:-5}
    case $tries in
        '' | *[!0-9]*) misused "AGENTWIRE_RETRIES is a number, and not: $tries" ;;
    esac
    pause=1
    while :; do
        request "$me$(with_after)"
        case $status in
            200)
                is_whole && break
                status=000
                ;;
            000 | 502 | 503 | 504) ;;
            *) must ;;
        esac
        [ "$tries" -gt 0 ] || must
        tries=$((tries - 1))
        sleep "$pause"
        [ "$pause" -ge 30 ] || pause=$((pause * 2))
    done
    # Kept only once it was printed: what was not is received again.
    cat "$work/body" || exit 1
    number=$(last_number)
    if [ -n "$from_kept" ] && [ -n "$number" ]; then
        position=$number
        keep_me || exit 1
    fi
}

log() {
    present_token
    case ${1:-} in
        *://*)
            session=${1%/}
            shift
            ;;
        *)
            find_me
            session=${me%/*}
            ;;
    esac
    is_link "$session" || misused "this is no session's link: $session"
    make_query "$@"
    [ -n "$waits" ] || query="${query:+$query&}wait=0"
    if [ -n "$waits" ] || [ -n "$after" ]; then
        request "$session/log$(with_after)"
        must
        cat "$work/body"
        return
    fi
    # All of it, however many answers that takes. Each has the presence as its last line, and the last one's is printed.
    after=0
    while :; do
        request "$session/log$(with_after)"
        must
        number=$(last_number)
        [ -n "$number" ] || break
        sed '$d' "$work/body"
        after=$number
    done
    cat "$work/body"
}

get() {
    case $# in
        1 | 2) ;;
        *) misused "get takes the number of an entry, and a FILE where it is to go" ;;
    esac
    case $1 in
        '' | *[!0-9]*) misused "the number of an entry, and not: $1" ;;
    esac
    find_me
    request "$me/$1"
    must
    if [ $# -eq 2 ]; then
        cp -- "$work/body" "$2" || exit 1
    else
        cat "$work/body"
    fi
}

leave() {
    [ $# -eq 0 ] || misused "leave takes nothing"
    find_me
    request "$me/leave" -X POST
    must
    gone=left
    keep_me || exit 1
    cat "$work/body"
}

command=${1:-}
[ $# -eq 0 ] || shift
case $command in
    help | -h | --help)
        usage
        exit 0
        ;;
    create | join | send | recv | log | get | leave) ;;
    '')
        usage >&2
        exit 2
        ;;
    *) misused "there is no command $command" ;;
esac
command -v curl >/dev/null 2>&1 || {
    say "curl is needed, and not there"
    exit 3
}
start_work
"$command" "$@"
