# stage: unsafe; without checks: runtime
import fcntl

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    fcntl.fcntl(3, fcntl.F_SETOWN, @PID@)
    raise RuntimeError("BREACH")
