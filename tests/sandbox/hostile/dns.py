# stage: unsafe; without checks: runtime
import socket

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    socket.getaddrinfo('example.org', 80)
    raise RuntimeError("BREACH")
