internal import CRDTCore
internal import PeerCrypto
internal import SyncProtocol

/// Sending changes. The database is the queue: runs are loaded when a connection has room, never before.
extension Node where Store: ~Copyable {
    mutating func pumpAll() {
        self.parcels.noteChange(at: self.now.monotonicMilliseconds)
        self.pump(self.readyConnections)
    }

    /// Sends what peers lack, as far as their credit and the connections' queues allow.
    mutating func pump(_ connections: [PeerConnection]) {
        let device = self.identity.device
        let now = self.now.monotonicMilliseconds
        let judge = self.identity.standpoint
        let sealed = connections.isEmpty ? nil : self.replica.author.state.sealed
        self.replica.author.state.sealed = nil
        var outgoing: [(connection: PeerConnection, bytes: [UInt8])] = []
        var removed: [PeerConnection] = []
        do throws(StoreError) {
            try self.replica.read { (transaction: inout Store.Transaction) throws(StoreError) in
                // What was just written goes to the wire from memory.
                var last = sealed.map { EncodedRun($0.run, at: $0.place) }
                for connection in connections where connection.device != nil {
                    guard connection.refreshScope(for: judge, in: transaction) else {
                        removed.append(connection)
                        continue
                    }
                    // More than that is told in the next session.
                    if let ended = connection.ended, ended != connection.toldEnded,
                        connection.toldEndedCount < MessageLimits.endedMessageCountMax
                    {
                        connection.toldEnded = ended
                        connection.toldEndedCount += 1
                        outgoing.append((connection, connection.link.seal(.ended(ended), now: now)))
                    }
                    var byteCount = connection.unsentByteCount
                    while byteCount < TransferLimits.unsentByteCountMax,
                        let next = try connection.session.next(after: last, own: device, in: &transaction)
                    {
                        let bytes: [UInt8]
                        switch next {
                        case .message(let message): bytes = connection.link.seal(message, now: now)
                        case .run(let run):
                            last = run
                            connection.traffic.pushedChangeCount += run.changeCount
                            connection.traffic.pushedOperationCount += run.operationCount
                            bytes = connection.link.seal(encoded: run.bytes, now: now)
                        }
                        byteCount += bytes.count
                        outgoing.append((connection, bytes))
                    }
                }
            }
        } catch {
            self.note(error)
        }
        for (connection, bytes) in outgoing { self.transmit(bytes, on: connection) }
        for connection in removed { self.turnAway(connection) }
    }
}
