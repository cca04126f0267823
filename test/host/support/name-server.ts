/** A program for Python: a name server on 127.0.0.77 that gives every question back as an answer without records. */
export const nameServer = `
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.77", 53))
while True:
    data, peer = s.recvfrom(512)
    s.sendto(data[:2] + bytes([0x81, 0x80]) + data[4:], peer)
`;
