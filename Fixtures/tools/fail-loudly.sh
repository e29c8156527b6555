#!/bin/sh
echo "the printer is on fire" >&2
exit 3
