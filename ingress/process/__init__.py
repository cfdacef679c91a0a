"""How the process runs and ends: signals, output, time, memory, threads.

    begins and ends       lifecycle.py (signals, exit status), pid_file.py, secrecy.py, version.py, systemd/
    what it may have      caps/
    its interpreter       interpreter.py, garbage_collection.py (the collector), reachable.py (what lives)
    time                  steady_time.py (the reactor's clock), timestamps.py (dates in logs)
    is it late?           lateness.py, lag_watch.py
    long work             in_slices.py (slices in the reactor), one_each_turn.py (whose is next), computing.py (threads),
                          yielding.py (traffic goes first), interruption.py (breaks off what blocks)
    several processes     control_channel.py, framing.py (what they say), shared/ (the memory that they share)
    what it says          logs/

Nothing here knows objects, routes or requests.
"""
