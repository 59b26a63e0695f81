import CRDTCore
import MergeModel
import Testing

/// `CircleRights` and the naive model come to the same verdicts on what a store holds, in whatever order that came.
struct CircleRightsTests {
    @Test(arguments: Seeds.range(from: 94_000, count: 600))
    func `verdicts are those of the naive model, in every order of arrival`(seed: UInt64) throws {
        let world = RandomCircle(seed: seed)
        var random = SplitMix64(seed: seed)
        let log = try CircleLog(world.circle)
        var verdicts: [[Bool]] = []
        for _ in 0..<2 { verdicts.append(try log.verdicts(in: random.shuffled(Array(log.runs.indices)))) }
        let naive = world.circle.rights
        let expected = log.questions.map { question in
            switch question.asked {
            case .role(let role): naive.counts(question.change, as: role)
            case .name(let name): naive.counts(question.change, writing: name)
            }
        }
        for found in verdicts {
            for (question, (found, expected)) in zip(log.questions, zip(found, expected)) {
                #expect(found == expected, "seed \(seed), change \(question.change), \(question.asked)")
            }
        }
        #expect(try log.readers() == world.circle.devices.keys.sorted().filter { naive.reads($0) }, "seed \(seed)")
    }

    /// A thief's phone makes a certificate for the laptop that had vouched for it: only what is written with that
    /// certificate stands below the phone.
    @Test func `who vouches for a device above him stands above none of its own chains`() throws {
        var circle = WrittenCircle()
        let laptop = circle.add(10, of: WrittenCircle.owner)
        let phone = circle.add(11, of: WrittenCircle.owner, by: laptop)
        let tablet = circle.add(12, of: WrittenCircle.owner, by: laptop)
        let own = circle.write(laptop)
        let other = circle.write(tablet)
        let theft = circle.write(phone, .deviceRemoval(laptop, keep: [], heads: []))
        var log = try CircleLog(circle)
        // The tablet, stolen too, begins a chain with the laptop's certificate by the phone.
        let forged = try log.write(tablet, line: [tablet, laptop, phone])
        let counts = try log.writerCounts()
        #expect(counts[own] && counts[other] && counts[theft])
        #expect(!counts[forged])
    }
}

/// The changes of a circle as runs.
private struct CircleLog {
    enum Asked: Hashable {
        case role(NaiveRights.Role)
        case name(String)
    }

    private(set) var runs: [VerifiedRun] = []
    private(set) var questions: [(change: Int, asked: Asked)] = []
    private let circle: WrittenCircle
    private var hashes: [Hash256] = []
    private var places: [(replica: ReplicaID, sequence: UInt64)] = []
    private var statements: [(place: NaiveRights.StatementPlace, id: StatementID)] = []

    init(_ circle: WrittenCircle) throws {
        self.circle = circle
        for (number, change) in circle.changes.enumerated() {
            let line = [change.device] + (circle.devices[change.device]?.issuers ?? [])
            try self.write(number, change, line: line)
            let roles: [NaiveRights.Role] = [.manager, .writer, .reader]
            self.questions += roles.map { (number, .role($0)) } + ["done", "title"].map { (number, .name($0)) }
        }
    }

    /// Writes a change that says nothing and begins a chain, with certificates of one's own; returns its number.
    mutating func write(_ device: DeviceID, line: [DeviceID]) throws -> Int {
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
    func verdicts(in order: [Int]) throws -> [Bool] {
        try self.reading(order) { rights, places, transaction throws(StoreError) in
            try self.questions.map { question throws(StoreError) in
                let place = places[question.change]
                let ends = try rights.ends(of: place.segment, in: &transaction)
                switch question.asked {
                case .role(.owner), .role(.manager): return place.sequence <= ends.manager
                case .role(.writer): return place.sequence <= ends.writer
                case .role(.reader): return place.sequence <= ends.reader
                case .name(let name): return place.sequence <= ends.end(writing: name)
                }
            }
        }
    }

    func readers() throws -> [DeviceID] {
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
    func writerCounts() throws -> [Bool] {
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
                    said.append(CircleRights.Said(statement, at: place))
                }
            }
            let rights = try CircleRights(owner: WrittenCircle.owner, said, in: &transaction)
            return try body(rights, places, &transaction)
        }
    }
}
