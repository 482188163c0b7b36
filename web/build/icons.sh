#!/bin/sh
# Draws the icons of public/icons from the drawings. Needs rsvg-convert (Debian:
# librsvg2-bin); run it when a drawing changes.
set -e
cd "$(dirname "$0")/.."
for size in 192 512; do rsvg-convert -w $size -h $size public/icons/mark.svg -o public/icons/icon-$size.png; done
rsvg-convert -w 180 -h 180 icons/maskable.svg -o public/icons/icon-180.png
rsvg-convert -w 512 -h 512 icons/maskable.svg -o public/icons/maskable-512.png
rsvg-convert -w 96 -h 96 icons/badge.svg -o public/icons/badge-96.png
