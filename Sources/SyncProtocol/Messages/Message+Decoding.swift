internal import CRDTCore

extension Message {
    /// Reads a message of a kind from all of its bytes.
    init(kind: MessageKind, body: [UInt8]) throws(WireError) {
        var reader = ByteReader(body)
        switch kind {
        case .hello: self = .hello(try Hello(decoding: &reader))
        case .welcome: self = .welcome(try Welcome(decoding: &reader))
        case .join:
            var request = JoinRequest(
                device: DeviceID(bytes: try reader.bytes32()),
                deviceName: try reader.text(atMost: Limits.nameByteCountMax),
                proof: try reader.signature()
            )
            if reader.remaining > 0 {
                request.person = try Introduction(decoding: try reader.slice(reader.remaining)[...])
            }
            self = .join(request)
        case .member:
            self = .member(try Introduction(decoding: body[...]))
            return
        case .ranges: self = .ranges(try FrontierRange.list(decoding: &reader))
        case .run:
            self = .run(try Run(decoding: try Compression.decompress(body)))
            return
        case .caughtUp: self = .caughtUp
        case .stored: self = .stored(try reader.entries(atMost: MessageLimits.storedEntryCountMax))
        case .credit: self = .credit(try reader.varint())
        case .eagerness:
            let flag = try reader.byte()
            guard flag <= 1 else { throw .notCanonical }
            self = .eagerness(flag == 1)
        case .probe: self = .probe(try ChainProbe(decoding: &reader))
        case .wanted: self = .wanted(try reader.wantedContents())
        case .given: self = .given
        case .state:
            let frontier = Hash256(bytes: try reader.bytes32())
            self = .state(StateClaim(frontier: frontier, root: Hash256(bytes: try reader.bytes32())))
        case .sums:
            let frontier = Hash256(bytes: try reader.bytes32())
            var sums: [UInt64] = []
            for _ in 0..<SettledDigest.groupCount { sums.append(try reader.bigEndian()) }
            self = .sums(StateSums(frontier: frontier, sums: sums))
        case .objects: self = .objects(try StateObjects(decoding: &reader))
        case .ended:
            var circles: [EndedCircle] = []
            for _ in 0..<(try reader.count(atMost: MessageLimits.endedCircleCountMax)) {
                circles.append(try EndedCircle(decoding: &reader))
            }
            self = .ended(circles)
        case .parcel:
            self = .parcel(try Parcel(decoding: body))
            return
        case .parcelTaken: self = .parcelTaken(Hash256(bytes: try reader.bytes32()))
        case .blobWant, .blobProof, .blobPiece, .blobLacking, .blobCancel, .blobHere:
            guard let message = try BlobMessage(kind: kind, decoding: &reader) else { throw .unknownKind }
            self = .blob(message)
        case .ping: self = .ping(try reader.wallTime())
        case .pong: self = .pong(try reader.wallTime())
        }
        try reader.finish()
    }
}

extension ByteReader {
    /// Changes by their full hashes.
    fileprivate mutating func entries(atMost limit: Int) throws(WireError) -> [FrontierEntry] {
        var entries: [FrontierEntry] = []
        for _ in 0..<(try self.count(atMost: limit)) { entries.append(try FrontierEntry(decoding: &self)) }
        return entries
    }

    fileprivate mutating func wantedContents() throws(WireError) -> [WantedContent] {
        var contents: [WantedContent] = []
        for _ in 0..<(try self.count(atMost: MessageLimits.wantedChangeCountMax)) {
            let change = try FrontierEntry(decoding: &self)
            if let last = contents.last, change <= last.change { throw .notCanonical }
            contents.append(WantedContent(change: change, places: try OperationRanges(decoding: &self)))
        }
        return contents
    }

    /// The sequence of a change.
    fileprivate mutating func sequence() throws(WireError) -> UInt64 {
        let sequence = try self.varint()
        guard sequence >= 1, sequence <= Limits.sequenceMax else { throw .overLimit }
        return sequence
    }

    /// What a clock shows; nil if its owner does not know the time.
    fileprivate mutating func wallTime() throws(WireError) -> WallTime? {
        let milliseconds = try self.varint()
        return milliseconds == 0 ? nil : WallTime(milliseconds: milliseconds)
    }
}

extension Hello {
    fileprivate init(decoding reader: inout ByteReader) throws(WireError) {
        let version = try reader.varint()
        guard version >= 1 else { throw .unknownKind }
        let deviceStart = try reader.bigEndian()
        let wallTime = try reader.wallTime()
        let port = UInt16(try reader.count(atMost: Int(UInt16.max)))
        let fingerprint = Hash256(bytes: try reader.bytes32())
        let proof = try reader.signature()
        let instance = UInt32(try reader.count(atMost: Int(UInt32.max)))
        // A later version may say more; what it says up to here stays.
        if version > Hello.currentVersion { _ = try reader.slice(reader.remaining) }
        self.init(
            version: version,
            deviceStart: deviceStart,
            instance: instance,
            wallTime: wallTime,
            port: port,
            fingerprint: fingerprint,
            proof: proof
        )
    }
}

extension Welcome {
    fileprivate init(decoding reader: inout ByteReader) throws(WireError) {
        self.init(
            founder: UserID(bytes: try reader.bytes32()),
            workspaceNonce: try reader.bytes16(),
            user: UserID(bytes: try reader.bytes32()),
            membershipKey: try reader.bytes32(),
            inviter: DeviceID(bytes: try reader.bytes32()),
            certificates: try [DeviceCertificate](decoding: &reader)
        )
    }
}

extension FrontierRange {
    fileprivate static func list(decoding reader: inout ByteReader) throws(WireError) -> [FrontierRange] {
        var ranges: [FrontierRange] = []
        var entryCount = 0
        let count = try reader.count(atMost: MessageLimits.rangeCountMax)
        for position in 0..<count {
            let end: ReplicaID?
            switch try reader.byte() {
            case 0:
                guard position == count - 1 else { throw .notCanonical }
                end = nil
            case 1: end = ReplicaID(bytes: try reader.bytes16())
            default: throw .notCanonical
            }
            if let end, let previous = ranges.last?.end, end <= previous { throw .notCanonical }
            let range = FrontierRange(end: end, claim: try self.claim(decoding: &reader, &entryCount))
            try range.check(from: ranges.last?.end)
            ranges.append(range)
        }
        return ranges
    }

    private static func claim(
        decoding reader: inout ByteReader,
        _ entryCount: inout Int
    ) throws(WireError) -> Claim {
        let form = try reader.byte()
        switch form {
        case 0: return .skip
        case 1: return .fingerprint(Hash256(bytes: try reader.bytes32()))
        case 2, 3:
            let count = try reader.count(atMost: MessageLimits.rangeEntryCountMax - entryCount)
            entryCount += count
            var entries: [FrontierEntry] = []
            for _ in 0..<count { entries.append(try FrontierEntry(decoding: &reader)) }
            return form == 2 ? .entries(entries) : .answer(entries)
        case 4: return .equal
        default: throw .unknownKind
        }
    }

    /// Entries ascend and lie in their range.
    private func check(from start: ReplicaID?) throws(WireError) {
        switch self.claim {
        case .skip, .fingerprint, .equal: return
        case .entries(let entries), .answer(let entries):
            var last: FrontierEntry?
            for entry in entries {
                if let last, entry <= last { throw .notCanonical }
                if let start, entry.replica < start { throw .notCanonical }
                if let end = self.end, entry.replica >= end { throw .notCanonical }
                last = entry
            }
        }
    }
}

extension StateObjects {
    /// Groups and objects in ascending order.
    fileprivate init(decoding reader: inout ByteReader) throws(WireError) {
        self.init(frontier: Hash256(bytes: try reader.bytes32()), groups: [], objects: [])
        for _ in 0..<(try reader.count(atMost: MessageLimits.listedGroupCountMax)) {
            let group = try reader.count(atMost: SettledDigest.groupCount - 1)
            if let last = self.groups.last, group <= last { throw .notCanonical }
            self.groups.append(group)
        }
        for _ in 0..<(try reader.count(atMost: MessageLimits.listedObjectCountMax)) {
            let id = ObjectID(bytes: try reader.bytes16())
            if let last = self.objects.last, id <= last.id { throw .notCanonical }
            self.objects.append(ObjectDigest(id: id, digest: try reader.bigEndian()))
        }
    }
}

extension ChainProbe {
    /// At least one point, in ascending order.
    fileprivate init(decoding reader: inout ByteReader) throws(WireError) {
        self.init(replica: ReplicaID(bytes: try reader.bytes16()), points: [])
        for _ in 0..<(try reader.count(atMost: MessageLimits.probePointCountMax)) {
            let point = ChainPoint(sequence: try reader.sequence(), hash: Hash256(bytes: try reader.bytes32()))
            if let last = self.points.last, point.sequence <= last.sequence { throw .notCanonical }
            self.points.append(point)
        }
        guard !self.points.isEmpty else { throw .truncated }
    }
}
