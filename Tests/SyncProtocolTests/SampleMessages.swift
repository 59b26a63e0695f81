import CRDTCore
import SyncProtocol

@testable import SyncProtocol

/// Messages of every kind, and the limits of their lists.
enum SampleMessages {
    static let hash = Hash256(bytes: Bytes32(9, 8, 7, 6))
    static let replica = ReplicaID(bytes: Bytes16(high: 3, low: 4))
    static let user = UserID(bytes: Bytes32(5, 0, 0, 1))
    static let device = DeviceID(bytes: Bytes32(6, 0, 0, 1))

    static func replica(_ number: Int) -> ReplicaID { ReplicaID(bytes: Bytes16(high: UInt64(number), low: 0)) }

    static func signature() throws -> Signature {
        guard let signature = Signature([UInt8](repeating: 3, count: Signature.byteCount)) else { throw Missing() }
        return signature
    }

    struct Missing: Error {}

    static func certificate() throws -> DeviceCertificate {
        DeviceCertificate(
            device: self.device,
            staticKey: StaticKey(bytes: Bytes32(1, 2, 3, 4)),
            signature: try self.signature()
        )
    }

    static func hello(version: UInt64 = Hello.currentVersion) -> Hello {
        Hello(
            version: version,
            workspace: WorkspaceID(bytes: Bytes32(1, 1, 1, 1)),
            device: self.device,
            replica: self.replica,
            wallTime: WallTime(milliseconds: .max),
            port: .max,
            fingerprint: self.hash
        )
    }

    static func welcome(certificateCount: Int = 1) throws -> Welcome {
        let certificate = try self.certificate()
        return Welcome(
            founder: self.user,
            workspaceNonce: Bytes16(high: 1, low: 2),
            user: self.user,
            certificates: Array(repeating: certificate, count: certificateCount)
        )
    }

    /// A run with an operation of a kind that this version does not know.
    static func run() throws -> Run {
        var builder = RunBuilder(replica: self.replica, firstSequence: 7)
        builder.beginChange(
            stamp: Stamp(rawValue: 1 << 40),
            context: [Dot(replica: self.replica(1), sequence: 5)],
            blinding: Array(0..<16)
        )
        let object = ObjectID(bytes: Bytes16(high: 1, low: 1))
        builder.append(.set(object, name: "title", value: .string(String(repeating: "text ", count: 40))))
        builder.append(.unknown(kind: 231, body: [1, 2, 3]))
        return builder.signed(try self.signature())
    }

    static func forkProof() throws -> ForkProof {
        let introduction = Introduction(
            user: self.user,
            deviceName: "name",
            nonce: Bytes16(high: 1, low: 2),
            certificates: [try self.certificate()]
        )
        let branch = ForkProof.Branch(headers: [[1, 2, 3], [4]], signature: try self.signature())
        return ForkProof(introduction: introduction, first: branch, second: branch)
    }

    static func entry(_ number: Int) -> FrontierEntry {
        FrontierEntry(
            replica: self.replica(number),
            sequence: UInt64(number),
            hash: self.hash,
            isForked: number.isMultiple(of: 2)
        )
    }

    static func probe(pointCount: Int) -> Message {
        let points = (0..<pointCount).map { ChainPoint(sequence: UInt64($0) + 1, hash: self.hash) }
        return .forkProbe(ForkProbe(replica: self.replica, points: points))
    }

    static func ranges() -> [FrontierRange] {
        [
            FrontierRange(end: self.replica(1), claim: .fingerprint(self.hash)),
            FrontierRange(end: self.replica(10), claim: .entries([self.entry(1), self.entry(9)])),
            FrontierRange(end: self.replica(20), claim: .skip),
            FrontierRange(end: self.replica(30), claim: .equal),
            FrontierRange(end: nil, claim: .answer([])),
        ]
    }

    /// At least one of each kind.
    static func all() throws -> [Message] {
        var withoutReplica = self.hello()
        withoutReplica.replica = nil
        let notice = HeldNotice(
            replica: self.replica,
            sequence: Limits.sequenceMax,
            stamp: Stamp(rawValue: .max),
            wallTime: WallTime(milliseconds: 1)
        )
        let points = [ChainPoint(sequence: 0, hash: self.hash), ChainPoint(sequence: 4, hash: .zero)]
        let request = BranchRequest(replica: self.replica, points: points)
        let part = BranchPart(previous: self.hash, run: try self.run())
        return [
            .hello(self.hello()), .hello(withoutReplica), .welcome(try self.welcome()), .ranges(self.ranges()),
            .ranges([]), .run(try self.run()), .caughtUp, .stored([Dot(replica: self.replica, sequence: 300)]),
            .stored([]), .credit(.max), .eagerness(true), .eagerness(false), .held(notice), self.probe(pointCount: 3),
            .forkProof(try self.forkProof()), .branchRequest(request), .branch(part), .ping(0), .pong(300),
        ]
    }

    /// A message of a kind with any body.
    static func framed(_ kind: MessageKind, _ body: [UInt8]) -> [UInt8] {
        var bytes = [kind.rawValue]
        bytes.appendPrefixed(body)
        return bytes
    }

    /// A message's bytes after its kind and length.
    static func body(of message: Message) throws -> [UInt8] {
        var reader = ByteReader(message.encoded())
        _ = try reader.byte()
        return Array(try reader.prefixed(atMost: reader.remaining))
    }

    /// What a reader makes of bytes that come in pieces of a length.
    static func read(_ bytes: [UInt8], pieceByteCount: Int = .max) throws(WireError) -> [Message] {
        var reader = MessageReader()
        var messages: [Message] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            reader.append(rest.prefix(pieceByteCount))
            rest = rest.dropFirst(pieceByteCount)
            while let received = try reader.next() { messages.append(received.message) }
        }
        return messages
    }
}
