package import CRDTCore

/// The changes of a circle as runs.
package struct CircleLog {
    package private(set) var runs: [VerifiedRun] = []
    package private(set) var questions: [(change: Int, need: RightNeed)] = []
    private let circle: WrittenCircle
    private var hashes: [Hash256] = []
    private var places: [(replica: ReplicaID, sequence: UInt64)] = []
    private var statements: [(place: NaiveRights.StatementPlace, id: StatementID)] = []

    package init(_ circle: WrittenCircle) throws {
        self.circle = circle
        for (number, change) in circle.changes.enumerated() {
            let line = [change.device] + (circle.devices[change.device]?.issuers ?? [])
            try self.write(number, change, line: line)
            self.questions += Role.allCases.map { (number, .role($0)) }
            self.questions += ["done", "title"].map { (number, .write($0)) }
        }
    }

    /// Writes a change that says nothing and begins a chain, with certificates of one's own; returns its number.
    package mutating func write(_ device: DeviceID, line: [DeviceID]) throws -> Int {
        try self.write(self.runs.count, NaiveRights.Change(by: device), line: line)
        return self.runs.count - 1
    }

    private mutating func write(_ number: Int, _ change: NaiveRights.Change, line: [DeviceID]) throws {
        let nonce = Bytes16(high: UInt64(number), low: 1)
        let own = ReplicaID(device: change.device, nonce: nonce, TestDevice.cryptography)
        let before = change.previous.map { self.places[$0] }
        let (replica, sequence) = (before?.replica ?? own, (before?.sequence ?? 0) + 1)
        var builder = RunBuilder(replica: replica, firstSequence: sequence)
        let stamp = Stamp(milliseconds: 1_700_000_000_000 + UInt64(number))
        builder.beginChange(stamp: stamp, context: [], blinding: Bytes16(high: UInt64(number), low: 2).array)
        if sequence == 1 { builder.append(.introduce(self.introduction(change, nonce, line: line))) }
        let first = sequence == 1 ? 1 : 0
        for statement in change.statements { builder.append(.rights(self.statement(statement))) }
        let run = VerifiedRun.sealUnchecked(
            builder,
            previous: change.previous.map { self.hashes[$0] } ?? .zero,
            TestDevice.cryptography,
            sign: { _ in Signature(first: .zero, second: .zero) }
        )
        self.runs.append(run)
        self.hashes.append(run.hashes[0])
        self.places.append((replica, sequence))
        for index in change.statements.indices {
            let id = StatementID(change: self.named(number), index: UInt32(first + index))
            self.statements.append((NaiveRights.StatementPlace(number, index), id))
        }
    }

    private func introduction(_ change: NaiveRights.Change, _ nonce: Bytes16, line: [DeviceID]) -> Introduction {
        let device = self.circle.devices[change.device]
        return Introduction(
            user: device?.user ?? WrittenCircle.owner,
            deviceName: "",
            nonce: nonce,
            grants: self.ids(of: change.under),
            certificates: line.map {
                DeviceCertificate(
                    generation: UInt32(device?.generation ?? 1),
                    device: $0,
                    staticKey: StaticKey(bytes: .zero),
                    signature: Signature(first: .zero, second: .zero)
                )
            }
        )
    }

    private func statement(_ statement: NaiveRights.Statement) -> RightsStatement {
        switch statement {
        case .grant(let user, let role, let names, let despite):
            let role = Role(rawValue: UInt8(role.rawValue)) ?? .reader
            return .grants(.init(to: user, role, names: names?.sorted(), despite: self.ids(of: despite)))
        case .removal(let user, let roles, let heads):
            let roles = Set(roles.compactMap { Role(rawValue: UInt8($0.rawValue)) })
            return .removes(.init(of: user, from: roles, heads: heads.map { self.named($0) }))
        case .deviceRemoval(let device, let keep, let heads):
            return .removesDevice(.init(of: device, keep: Array(keep), heads: heads.map { self.named($0) }))
        }
    }

    private func named(_ change: Int) -> NamedChange {
        let place = self.places[change]
        return NamedChange(replica: place.replica, sequence: place.sequence, hash: self.hashes[change])
    }

    private func ids(of places: Set<NaiveRights.StatementPlace>) -> [StatementID] {
        self.statements.filter { places.contains($0.place) }.map(\.id)
    }

    // MARK: - In a store

    /// The answers to all questions, by a store that gets the runs in an order, as far as one extends another.
    package func verdicts(in order: [Int]) throws -> [(counts: Bool, reason: RightReason)] {
        try self.reading(order) { rights, places, transaction throws(StoreError) in
            try self.questions.map { question throws(StoreError) in
                let place = places[question.change]
                let end = try rights.ends(of: place.segment, in: &transaction).end(of: question.need)
                return (place.sequence <= end, try rights.reason(for: question.need, at: place, in: &transaction))
            }
        }
    }

    /// The answers to all questions, by what a store has settled once all runs have come, each in a transaction.
    package func settledVerdicts<Store: ReplicaStore & ~Copyable>(
        in order: [Int],
        by store: inout Store
    ) throws -> [Bool] {
        var waiting = order
        while !waiting.isEmpty {
            var left: [Int] = []
            for number in waiting {
                let reception = try store.write { transaction throws(StoreError) in
                    var merge = Merge(now: WallTime(milliseconds: 1_800_000_000_000), founder: WrittenCircle.owner)
                    let reception = try merge.receive(self.runs[number], in: &transaction)
                    try merge.finish(in: &transaction)
                    return reception
                }
                if reception == .doesNotFit { left.append(number) }
            }
            waiting = left
        }
        return try store.read { transaction throws(StoreError) in
            try self.questions.map { question throws(StoreError) in
                let (replica, sequence) = self.places[question.change]
                let hash = self.hashes[question.change]
                guard let place = try transaction.place(of: replica, sequence: sequence, hash: hash) else {
                    return false
                }
                let ends = transaction.rights.limits(of: place.segment) ?? RightEnds(all: .max)
                return sequence <= ends.end(of: question.need)
            }
        }
    }

    /// What decides about a change, and the number of the change that says it.
    package func reason(for need: RightNeed, in change: Int) throws -> (reason: RightReason, statement: Int?) {
        try self.reading(Array(self.runs.indices)) { rights, places, transaction throws(StoreError) in
            let reason = try rights.reason(for: need, at: places[change], in: &transaction)
            return (reason, reason.statement.flatMap { places.firstIndex(of: $0.change) })
        }
    }

    package func readers() throws -> [DeviceID] {
        try self.reading(Array(self.runs.indices)) { rights, _, _ throws(StoreError) in
            self.circle.devices.keys.sorted().filter { device in
                let change = NaiveRights.Change(by: device)
                let line = [device] + (self.circle.devices[device]?.issuers ?? [])
                return ChainAuthor(self.introduction(change, Bytes16(high: 0, low: 0), line: line)).map {
                    rights.reads($0)
                } ?? false
            }
        }
    }

    /// Of all changes whether a writer may have written them.
    package func writerCounts() throws -> [Bool] {
        try self.reading(Array(self.runs.indices)) { rights, places, transaction throws(StoreError) in
            try places.map { place throws(StoreError) in
                try place.sequence <= rights.ends(of: place.segment, in: &transaction).writer
            }
        }
    }

    private func reading<Result>(
        _ order: [Int],
        _ body: (CircleRights, [SegmentPoint], inout MemoryTransaction) throws(StoreError) -> Result
    ) throws -> Result {
        var store = MemoryStore(origin: .zero)
        return try store.write { transaction throws(StoreError) in
            var merge = Merge(now: WallTime(milliseconds: 1_800_000_000_000), founder: WrittenCircle.owner)
            var waiting = order
            while !waiting.isEmpty {
                var left: [Int] = []
                for number in waiting {
                    let reception = try merge.receive(self.runs[number], in: &transaction)
                    if reception == .doesNotFit { left.append(number) }
                }
                waiting = left
            }
            try merge.finish(in: &transaction)
            var (places, said): ([SegmentPoint], [CircleRights.Said]) = ([], [])
            for number in self.runs.indices {
                let (replica, sequence) = self.places[number]
                let place = try transaction.place(of: replica, sequence: sequence, hash: self.hashes[number])
                places.append(place ?? SegmentPoint(segment: SegmentIndex(rawValue: .max), sequence: 0))
            }
            for number in order {
                let run = self.runs[number].run
                for (index, operation) in run.operations.enumerated() {
                    guard case .rights(let statement)? = try? run.edit(operation) else { continue }
                    let place = StatementPlace(change: places[number], index: UInt32(index))
                    said.append(CircleRights.Said(statement, at: place, in: self.hashes[number]))
                }
            }
            let rights = try CircleRights(owner: WrittenCircle.owner, said, in: &transaction)
            return try body(rights, places, &transaction)
        }
    }
}
