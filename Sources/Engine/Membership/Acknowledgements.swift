internal import CRDTCore
internal import SyncProtocol

/// What other devices are known to have stored, as they have said in sessions: of each segment of this store, how far.
struct Acknowledgements: Hashable {
    var seen: [DeviceID: SeenSegments] = [:]

    init() {}

    /// Reads what was stored.
    init(decoding bytes: [UInt8]) throws(WireError) {
        var reader = ByteReader(bytes)
        while reader.remaining > 0 {
            let device = DeviceID(bytes: try reader.bytes32())
            self.seen[device] = try SeenSegments(decoding: &reader)
        }
    }

    /// For each device its key, and a segment and a sequence for each segment that it has.
    var encoded: [UInt8] {
        var bytes: [UInt8] = []
        for (device, segments) in self.seen.sorted(by: { $0.key < $1.key }) {
            bytes += device.bytes.array
            segments.encode(to: &bytes)
        }
        return bytes
    }
}

extension Node where Store: ~Copyable {
    /// Takes note of what those have stored that are connected.
    mutating func noteAcknowledgements() {
        for connection in self.readyConnections { self.noteAcknowledgement(of: connection) }
    }

    /// Takes note of what a peer has stored that is connected, or was until now.
    mutating func noteAcknowledgement(of connection: PeerConnection) {
        guard let device = connection.device else { return }
        self.memory.acknowledgements.seen[device, default: SeenSegments()].formUnion(connection.session.storedByPeer)
    }

    /// What every device has stored that was heard from since a time, as far as that is known, and who those are that
    /// have not stored all.
    ///
    /// A device acknowledges in its sessions with this one, and by each change that it writes: that names what it had
    /// applied. Those that were forgotten are not asked.
    mutating func acknowledged(
        since time: WallTime
    ) throws(StoreError) -> (seen: SeenSegments, lacking: [String]) {
        self.noteAcknowledgements()
        let (own, founder) = (self.identity.device, self.identity.founder)
        return try self.replica.read { (transaction: inout Store.Transaction) throws(StoreError) in
            var (all, ends): (SeenSegments, [DeviceID: [SegmentPoint]]) = (SeenSegments(), [:])
            for segment in transaction.segmentIndices {
                let progress = transaction.progress(of: segment)
                guard progress.hasApplied else { continue }
                let end = SegmentPoint(segment: segment, sequence: progress.appliedSequence)
                _ = all.raise(segment, to: end.sequence)
                if let device = transaction.segment(segment).device { ends[device, default: []].append(end) }
            }
            var (seen, lacking) = (all, [String]())
            for key in self.book.sortedKeys where key.device != own {
                guard let entry = self.book[key], entry.isWanted else { continue }
                var (known, wrote) = (
                    self.memory.acknowledgements.seen[key.device] ?? SeenSegments(), WallTime(milliseconds: 0)
                )
                for end in ends[key.device] ?? [] {
                    wrote = max(
                        wrote,
                        WallTime(milliseconds: transaction.progress(of: end.segment).appliedStamp.milliseconds)
                    )
                    known.formUnion(try transaction.closure(of: [end]))
                }
                guard max(entry.lastSeen ?? wrote, wrote) >= time else { continue }
                // Nobody waits for it to have what it is not sent.
                let scope = transaction.circles(readableBy: entry.author, founder: founder)
                for (segment, sequence) in all.all where !scope.contains(transaction.progress(of: segment).circle) {
                    _ = known.raise(segment, to: sequence)
                }
                if all.next(from: SegmentIndex(rawValue: 0), beyond: known) != nil { lacking.append(entry.shownName) }
                seen = seen.intersection(known)
            }
            return (seen, lacking)
        }
    }
}
