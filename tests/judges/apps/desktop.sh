#!/bin/sh
# A desktop of one terminal, shown by noVNC: what is typed there is said again in the job's log.
set -eu
Xtigervnc :7 -geometry 640x480 -depth 24 -SecurityTypes None -localhost -rfbport 5907 -AlwaysShared &
export DISPLAY=:7
until xsetroot -solid '#3366cc' 2>/dev/null; do sleep 0.2; done
xterm -geometry 40x10+0+0 -e sh -c 'read -r line; echo "typed: $line" > "$HOME/typed"; xsetroot -solid "#cc6633"; sleep 600' &
echo desktop
exec websockify --web /usr/share/novnc "127.0.0.1:$STARLIGHT_PORT_WEB" 127.0.0.1:5907
