internal import CRDTCore
internal import Engine
internal import MergeModel

/// Draws edits and transactions of all sizes: mostly small ones, and some at a limit, one below it and one above.
struct RelayShapes {
    var random: SplitMix64
    /// One of so many is at a limit.
    let largeEvery: Int

    init(seed: UInt64, largeEvery: Int) {
        self.random = SplitMix64(seed: seed)
        self.largeEvery = largeEvery
    }

    private static let objects = (0..<64).map { Workload.object($0) }

    mutating func isLarge() -> Bool { self.random.below(self.largeEvery) == 0 }

    /// A limit, or one more or less.
    private mutating func around(_ limit: Int) -> Int { limit + self.random.below(3) - 1 }

    // MARK: - Changes as others may sign them

    /// Edits of one change, and to how many replicas that nobody knows its context points.
    mutating func change(isLarge: Bool) -> (edits: [Edit], contextCount: Int) {
        guard isLarge else {
            return (self.small(self.random.below(8)), self.random.below(5) * self.random.below(40))
        }
        switch self.random.below(7) {
        case 0: return (self.filled(self.named(self.around(Limits.nameByteCountMax))), 0)
        case 1: return (self.filled(self.valued(self.around(Limits.valueByteCountMax))), 0)
        case 2: return (self.small(self.around(Limits.changeOperationCountMax)), 0)
        case 3: return (self.small(3), self.around(Limits.contextEntryCountMax))
        case 4: return (self.filled(self.moved(self.around(Limits.positionByteCountMax))), 0)
        case 5: return ([.unknown(kind: 200, body: self.bytes(self.around(Limits.opaqueByteCountMax)))], 0)
        // Two limits at once.
        default:
            return (self.filled(self.valued(Limits.valueByteCountMax)), self.around(Limits.contextEntryCountMax))
        }
    }

    private mutating func small(_ count: Int) -> [Edit] {
        (0..<count).map { number in
            let object = Self.objects[self.random.below(Self.objects.count)]
            switch number % 4 {
            case 0: return .delete(object)
            case 1: return .move(object, Place(parent: nil, position: Position(bytes: self.bytes(3))))
            default: return .set(object, name: "n\(number % 5)", value: .int(Int64(number)))
            }
        }
    }

    private mutating func named(_ byteCount: Int) -> Edit {
        .unset(Self.objects[0], name: String(repeating: "n", count: byteCount))
    }

    /// A tag comes before the bytes.
    private mutating func valued(_ byteCount: Int) -> Edit {
        .set(Self.objects[1], name: "v", value: .bytes(self.bytes(byteCount - 1)))
    }

    private mutating func moved(_ byteCount: Int) -> Edit {
        .move(Self.objects[2], Place(parent: Self.objects[3], position: Position(bytes: self.bytes(byteCount))))
    }

    /// As many of an edit as fit into a change, or one more.
    private mutating func filled(_ edit: Edit) -> [Edit] {
        let count = min(Limits.editByteCountMax / edit.byteCount, Limits.changeOperationCountMax)
        return Array(repeating: edit, count: count + self.random.below(2))
    }

    /// Bytes that can be compressed well, a little, or not at all.
    private mutating func bytes(_ count: Int) -> [UInt8] {
        let noise = self.random.below(3)
        var state = self.random.next()
        return (0..<count).map { position in
            if noise == 0 { return 7 }
            if noise == 1 { return UInt8(truncatingIfNeeded: position / 5) }
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: state >> 56)
        }
    }

    /// A run as it is, or as a compaction or an erasure leaves it.
    mutating func redacted(_ run: Run, _ cryptography: some ChangeCryptography) -> Run {
        let way = self.random.below(8)
        guard way < 2 else { return run }
        let share = 1 + self.random.below(4)
        let places = Set(run.operations.indices.filter { _ in self.random.below(4) < share })
        let redacted = way == 0 ? run.redacting(places, cryptography) : run.erasing(places, cryptography)
        return redacted?.run ?? run
    }

    // MARK: - Transactions as callers want them

    mutating func transaction(isLarge: Bool) -> Transaction {
        let object = Self.objects[self.random.below(Self.objects.count)]
        var steps: [Transaction.Step] = [.create(Transaction.Creation(id: .given(object), type: "item"))]
        guard isLarge else {
            for number in 0..<self.random.below(6) {
                let other = Self.objects[self.random.below(Self.objects.count)]
                switch self.random.below(4) {
                case 0: steps.append(.create(Transaction.Creation(id: .given(other), type: "item", parent: object)))
                case 1: steps.append(.move(object, parent: nil, before: nil))
                case 2: steps.append(.unset(object, name: "n\(number)"))
                default:
                    let value = Value.bytes(self.bytes(self.random.below(99)))
                    steps.append(.set(object, name: "n\(number)", value: value))
                }
            }
            return Transaction(steps)
        }
        switch self.random.below(4) {
        case 0:
            let value = Value.bytes(self.bytes(self.around(Limits.valueByteCountMax) - 1))
            steps += (0..<1 + self.random.below(7)).map { .set(object, name: "v\($0)", value: value) }
        case 1:
            let name = String(repeating: "n", count: self.around(Limits.nameByteCountMax) - 5)
            let count = self.around(Limits.editByteCountMax / 560)
            steps += (0..<count).map { .set(object, name: name + String($0 + 10_000), value: .null) }
        case 2:
            let count = self.around(Limits.changeOperationCountMax) - 1
            steps += (0..<count).map { .set(object, name: "n\($0 % 7)", value: .int(Int64($0))) }
        default:
            steps.append(.set(object, name: "n", value: .bytes(self.bytes(self.random.below(1 << 20)))))
        }
        return Transaction(steps)
    }

    // MARK: - Ways of cutting

    mutating func limits() -> RunLimits {
        RunLimits(
            changeCountMax: 1 + self.random.below(100),
            operationCountMax: 1 + self.random.below(1 << (1 + self.random.below(17))),
            byteCountMax: 1 + self.random.below(1 << (1 + self.random.below(23)))
        )
    }
}
