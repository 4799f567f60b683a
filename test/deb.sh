#!/bin/bash -p
# deb.sh: build the packages, install them in a clean place, sell, explore, remove them; last line: N passed, N failed.
# Root installs them with dpkg over this system, in a mount namespace that keeps all changes in memory and hides the checkout.
# Others unpack them into a folder. Environment: TEST_PORT_BASE (8700).
set -uo pipefail

cd "$(dirname "$0")/.." || exit 70
passed=0 failed=0
user=(env -i "PATH=/usr/bin:/bin:/usr/sbin:/sbin" HOME=/tmp/home PORT_BASE=$((${TEST_PORT_BASE:-8700} + 100)) LOADGEN_LATE=1s
    LOADGEN_NO_PROGRESS=1)

check() { # check SENTENCE COMMAND...
    local sentence=$1
    shift
    if "$@" >"$output" 2>&1 </dev/null; then
        passed=$((passed + 1))
        printf '  ok      %s\n' "$sentence"
    else
        failed=$((failed + 1))
        printf '  FAILED  %s\n' "$sentence"
        sed 's/^/    /' "$output"
    fi
}

finish() {
    echo "$passed passed, $failed failed"
    ((failed == 0))
    exit
}

# ---- functions for a shell in the place of the installation

sell() { # and audit the round with the command that loadgen printed
    local audit
    sale-stack up && loadgen --strategy none,atomic --rate 800 --duration 300ms --stock 120 \
        --expect none=OVERSELL+TWIN+LEAK?+STALE? >round && cat round && grep -q '^atomic *VALID' round &&
        audit=$(sed -n 's/^ *all of it: //p' round) && eval "$audit" | grep Twins
}

explore() { # the exercise fails, the answer does not
    local again
    ! lab explore 1 >explored && again=$(sed -n 's/^Again: //p' explored) && ! eval "$again" && lab answer 1 >answer.c &&
        lab explore answer.c --orders 2 && lab check answer.c --chapter 1
}

# shellcheck disable=SC2046 # the output of pkg-config is words
hold() { # build a program with the shared library, and run it and lockctl
    cc -Wall -Werror hold.c -o hold $(pkg-config --cflags --libs lockkit) && ldd hold | grep liblockkit.so.0 &&
        ./hold local: shop && lockctl run local: shop -- true
}

# shellcheck disable=SC2046
unlinked() { # build the program with the static library
    cc hold.c -o static -Wl,-Bstatic -llockkit -Wl,-Bdynamic $(pkg-config --static --cflags --libs lockkit | sed 's/-llockkit//') &&
        ! ldd static | grep liblockkit && ./static local: shop
}

there() { # there FUNCTION: as a user without rights
    "${enter[@]}" "${user[@]}" bash -c "set -eo pipefail; cd ~; $(declare -f "$1"); $1"
}

down() {
    sale-stack down
}

use() {
    check 'a round is sold and judged on private servers, and its audit can be pasted' there sell
    check 'an exploration compiles a chapter of the lab and can be pasted' there explore
    check 'a program links the library' there hold
    check 'a program links it statically' there unlinked
    check 'the servers stop' there down
}

files() { # files ROOT: all system files that a package may leave behind
    (cd "$1" && find etc usr var/lib/dpkg/info ! -name '*.pyc' ! -path usr/share/info/dir | sort)
}

is_as_before() {
    diff "$work/before" <(files "$root")
}

has_checkout() {
    grep -rlF "$PWD" "$root"/usr/lib/inventory-sale "$root"/usr/bin/lockctl "$root"/usr/lib/*/liblockkit*
}

install_over() {
    local folder debs=()
    mount --make-rprivate / 2>/dev/null # fails in a chroot, for which scripts/on-debian has done that
    mount -t tmpfs tmpfs "$work" && mkdir "$work"/{upper,work,root}
    root=$work/root enter=(chroot --userspec=nobody:nogroup "$work/root")
    mount -t overlay overlay -o "lowerdir=/,upperdir=$work/upper,workdir=$work/work" "$root" || exit 70
    for folder in dev proc; do mount --rbind "/$folder" "$root/$folder"; done
    mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
    cp build/deb/*.deb lockkit/example/hold.c "$root/tmp" && mkdir "$root/tmp/home" && mv "$root/tmp/hold.c" "$root/tmp/home" &&
        chown -R nobody:nogroup "$root/tmp/home"
    mount -t tmpfs tmpfs "$root$PWD"
    files "$root" >"$work/before"
    check 'dpkg installs them, with all that they depend on' chroot "$root" sh -c 'dpkg -i /tmp/*.deb'
    debs=(inventory-sale liblockkit-dev liblockkit0)
    check 'no file knows the checkout' eval '! has_checkout'
    use
    check 'dpkg removes them' chroot "$root" dpkg --purge "${debs[@]}"
    check 'nothing is left' is_as_before
}

unpack() {
    local deb libraries
    root=$work/root enter=(env -C "$work")
    for deb in build/deb/*.deb; do check "${deb##*/} is unpacked" dpkg-deb -x "$deb" "$root"; done
    mkdir "$work/home" && cp lockkit/example/hold.c "$work/home"
    libraries=$(dirname "$root"/usr/lib/*/liblockkit.so)
    sed -i "s|=/usr|=$root/usr|" "$libraries/pkgconfig/lockkit.pc"
    user+=("PATH=$root/usr/bin:$PATH" "HOME=$work/home" "LD_LIBRARY_PATH=$libraries" "PKG_CONFIG_PATH=$libraries/pkgconfig")
    check 'no file knows the checkout' eval '! has_checkout'
    use
}

on_exit() {
    [[ -z ${root:-} ]] || there down >/dev/null 2>&1 </dev/null
    umount -R "$work" 2>/dev/null
    rm -rf "$output" "$work"
}

if [[ ${1:-} != --inside ]]; then
    scripts/deb || { echo '0 passed, 1 failed' && exit 1; }
    ((EUID)) || exec unshare --mount --propagation unchanged "$0" --inside
fi
output=$(mktemp) work=$(mktemp -d)
chmod 755 "$work"
trap on_exit EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
check 'lintian finds no error, and no warning' lintian --fail-on error,warning build/deb/*.changes
if ((EUID)); then unpack; else install_over; fi
finish
