import CRDTCore
import MergeModel

/// Small runs that between them use every part of the format.
enum SampleRuns {
    /// Opens a chain, and uses every kind of operation, tables, contexts and unknown kinds.
    static func everything() -> RunBuilder {
        let device = TestDevice(number: 1)
        let nonce = Bytes16(high: 1, low: 2)
        let replica = device.replica(nonce: nonce)
        let object = ObjectID(bytes: Bytes16(high: 0xaaaa, low: 1))
        let parent = ObjectID(bytes: Bytes16(high: 0xbbbb, low: 2))
        let other = ReplicaID(bytes: Bytes16(high: 3, low: 3))
        let another = ReplicaID(bytes: Bytes16(high: 4, low: 4))
        let granting = NamedChange(replica: other, sequence: 300, hash: Hash256(bytes: Bytes32(1, 2, 3, 4)))
        let grant = StatementID(change: granting, index: 5)
        var builder = RunBuilder(replica: replica, firstSequence: 1)
        builder.beginChange(
            stamp: Stamp(rawValue: 1 << 40),
            context: [
                Point(replica: other, sequence: 1, name: ChangeName(rawValue: 7)),
                // Two forks of one chain.
                Point(replica: another, sequence: 200, name: ChangeName(rawValue: 1)),
                Point(replica: another, sequence: 200, name: ChangeName(rawValue: .max)),
            ],
            blinding: Array(0..<16)
        )
        var introduction = device.introduction(nonce: nonce)
        introduction.grants = [grant]
        builder.append(.introduce(introduction))
        builder.append(.create(object, type: "note", kind: "é"))
        builder.append(.set(object, name: "title", value: .string("text")))
        builder.append(.set(object, name: "size", value: .double(bits: 0x7ff8_dead_0000_0001)))
        builder.beginChange(stamp: Stamp(rawValue: 1 << 40 + 1), context: [], blinding: Array(16..<32))
        builder.append(.unset(object, name: "title"))
        builder.append(.move(object, Place(parent: parent, position: Position(bytes: [0, 255, 7]))))
        builder.append(.move(parent, .initial))
        builder.append(.delete(parent))
        builder.append(.rights(.grants(.init(to: device.user, .writer, names: ["title", ""], despite: [grant]))))
        builder.append(.rights(.removes(.init(of: device.user, from: [.manager, .reader], heads: [granting]))))
        let kept = TestDevice(number: 2).device
        builder.append(.rights(.removesDevice(.init(of: device.device, keep: [kept], heads: [granting]))))
        builder.append(.rights(.membershipKey(.init(number: 300, key: Bytes32(1, 2, 3, 4)))))
        builder.append(.unknown(kind: 200, body: [1, 2, 3]))
        builder.append(.unknown(kind: 254, body: []))
        builder.append(.restamp(Restamp(replica: replica, firstSequence: 7, lastSequence: 77, lastHash: .zero)))
        builder.beginChange(
            stamp: Stamp(rawValue: .max),
            context: [Point(replica: another, sequence: Limits.sequenceMax, name: ChangeName(rawValue: 0))],
            blinding: Array(32..<48)
        )
        return builder
    }

    /// Signs what a builder holds as the first device would.
    static func signed(_ builder: RunBuilder) -> Run {
        VerifiedRun.sealUnchecked(
            builder,
            previous: ChainHash.origin(TestDevice.workspace),
            TestDevice.cryptography,
            sign: { TestDevice(number: 1).sign($0) }
        ).run
    }
}
