# stage: unsafe; without checks: timeout
import signal

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    while True:
        pass
