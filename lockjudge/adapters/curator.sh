#!/bin/sh
# Curator.java beside this file, compiled by `make locks`; without that, java compiles it at each start.
# Usage: curator.sh HOST:PORT
jars=/usr/share/java/curator-recipes.jar:/usr/share/java/slf4j-nop.jar here=${0%/*} classes=${0%/*}/../../build/locks
if ! command -v java >/dev/null || [ ! -e /usr/share/java/curator-recipes.jar ]; then
    echo 'curator.sh: no java, or no Curator (Debian: libcurator-recipes-java): scripts/deps locks' >&2
    exit 69
fi
[ $# = 1 ] || { sed -n 3s/..//p "$0" >&2 && exit 64; }
program=$here/Curator.java
[ ! "$classes/Curator.class" -nt "$program" ] || program=Curator
exec java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData -cp "$jars:$classes" "$program" "${1#*://}"
