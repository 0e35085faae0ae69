# stage: unsafe; without checks: runtime
import socket

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    server = socket.socket()
    server.bind(('', 0))
    server.listen()
    raise RuntimeError("BREACH")
