"""TLS at our own ports: the profile, a context per certificate, the choice by server name."""
