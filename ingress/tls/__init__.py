"""TLS at our own ports: the profile, a context per certificate, the choice by server name;
and to endpoints: contexts by settings, sessions, and who has answered."""
