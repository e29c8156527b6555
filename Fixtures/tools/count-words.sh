#!/bin/sh
# Reads {"text":"…"} and writes {"words":n}. Enough JSON for a text without escapes.
sed -n 's/.*"text":"\([^"\\]*\)".*/\1/p' | wc -w | sed 's/ *\([0-9]*\)/{"words":\1}/'
