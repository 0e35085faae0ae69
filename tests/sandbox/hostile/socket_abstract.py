# stage: unsafe; without checks: runtime
import socket

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    sock = socket.socket(socket.AF_UNIX)
    sock.connect('\0coevo-hostile')
    raise RuntimeError("BREACH")
