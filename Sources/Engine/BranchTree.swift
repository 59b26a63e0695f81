internal import CRDTCore
internal import SyncProtocol

/// All that is known of a chain that forks: the branch in the log, and what does not stand there.
///
/// What stands in another branch than the log's can be written again by the device it is of and by nobody else, and
/// that device may never meet the machine that has it. So whoever meets that machine keeps the branch, in the signed
/// parts in which it came, and passes it on. Of its own chains a device remembers in the same way what it has written
/// again, by the hashes alone.
///
/// A branch may fork in its turn, so the branches are a tree. Each part hangs on a change of the log or of another
/// part: with a change all before it are known.
struct BranchTree {
    /// Changes one after the other, as they came; each stands in one part at most.
    struct Part: Hashable {
        var first: UInt64
        /// The hash of the change before the first.
        var previous: Hash256
        var last: ChainPoint
    }

    /// A piece of a branch that stands in one place.
    struct Stretch: Hashable {
        enum Place: Hashable {
            case log
            case part(Int)
        }

        var place: Place
        var first: UInt64
        var last: UInt64
    }

    /// The pieces of a branch, the last first.
    typealias Branch = [Stretch]

    private let index: ReplicaIndex
    private let replica: ReplicaID
    private let logEnd: ChainPoint
    /// What stands before the first change.
    private let origin: Hash256
    private(set) var parts: [Part] = []
    private var loadedHashes: [Int: [Hash256]] = [:]

    /// Reads which parts there are; their hashes only when they are needed.
    init(
        of index: ReplicaIndex,
        origin: Hash256,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        let record = transaction.replica(index)
        (self.index, self.replica, self.origin) = (index, record.id, origin)
        self.logEnd = ChainPoint(
            sequence: record.storedSequence,
            hash: record.storedSequence == 0 ? origin : record.storedHash
        )
        guard let bytes = try transaction.fact(NodeFact.branches(record.id)) else { return }
        // What a disk has spoiled is as if it had never been kept: it is asked for again.
        self.parts = (try? BranchTree.parts(decoding: bytes)) ?? []
    }

    // MARK: - What is known

    /// Whether a change is known, in the log or beside it.
    mutating func holds(_ point: ChainPoint, in transaction: inout some StoreTransaction) throws(StoreError) -> Bool {
        try self.place(of: point, in: &transaction) != nil
    }

    /// Whether a change stands in a part.
    mutating func isBesideLog(
        _ point: ChainPoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        try self.part(with: point, in: &transaction) != nil
    }

    private mutating func place(
        of point: ChainPoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Stretch.Place? {
        if try self.logHash(at: point.sequence, in: &transaction) == point.hash { return .log }
        return try self.part(with: point, in: &transaction).map { .part($0) }
    }

    private mutating func part(
        with point: ChainPoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Int? {
        for (number, part) in self.parts.enumerated() where (part.first...part.last.sequence).contains(point.sequence) {
            if part.last == point { return number }
            let hashes = try self.hashes(ofPart: number, in: &transaction)
            let position = Int(point.sequence - part.first)
            if hashes.indices.contains(position), hashes[position] == point.hash { return number }
        }
        return nil
    }

    private func logHash(
        at sequence: UInt64,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Hash256? {
        if sequence == 0 { return self.origin }
        guard sequence <= self.logEnd.sequence else { return nil }
        return try transaction.hash(of: self.index, sequence: sequence)
    }

    /// None if they cannot be read any more.
    private mutating func hashes(
        ofPart number: Int,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [Hash256] {
        if let loaded = self.loadedHashes[number] { return loaded }
        var hashes: [Hash256] = []
        if let bytes = try transaction.fact(NodeFact.branchHashes(self.replica, part: number)) {
            var reader = ByteReader(bytes)
            while let hash = try? reader.bytes32() { hashes.append(Hash256(bytes: hash)) }
        }
        self.loadedHashes[number] = hashes
        return hashes
    }

    // MARK: - Branches

    /// Every branch from its end down, the log's first and then the latest, as far as what it hangs on is known.
    private mutating func branches(in transaction: inout some StoreTransaction) throws(StoreError) -> [Branch] {
        let continued = Set(self.parts.map(\.previous))
        var branches: [Branch] = []
        if self.logEnd.sequence > 0, !continued.contains(self.logEnd.hash) {
            branches.append([Stretch(place: .log, first: 1, last: self.logEnd.sequence)])
        }
        for number in self.parts.indices.reversed() where branches.count < BranchTree.branchCountMax {
            let end = self.parts[number].last
            guard !continued.contains(end.hash), try self.place(of: end, in: &transaction) == .part(number) else {
                continue
            }
            branches.append(try self.branch(endingInPart: number, in: &transaction))
        }
        return branches
    }

    private mutating func branch(
        endingInPart number: Int,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Branch {
        var branch: Branch = []
        var (number, last) = (number, self.parts[number].last.sequence)
        while true {
            let part = self.parts[number]
            branch.append(Stretch(place: .part(number), first: part.first, last: last))
            last = part.first - 1
            let before = ChainPoint(sequence: last, hash: part.previous)
            switch try self.place(of: before, in: &transaction) {
            case .log:
                if last > 0 { branch.append(Stretch(place: .log, first: 1, last: last)) }
                return branch
            case .part(let next): number = next
            case nil: return branch
            }
        }
    }

    private mutating func hash(
        at sequence: UInt64,
        on branch: Branch,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Hash256? {
        guard sequence > 0 else { return self.origin }
        guard let stretch = branch.first(where: { ($0.first...$0.last).contains(sequence) }) else { return nil }
        switch stretch.place {
        case .log: return try self.logHash(at: sequence, in: &transaction)
        case .part(let number):
            let hashes = try self.hashes(ofPart: number, in: &transaction)
            let position = Int(sequence - stretch.first)
            return hashes.indices.contains(position) ? hashes[position] : nil
        }
    }

    // MARK: - Finding what one has and the other lacks

    /// What is asked with: the last change before the fork, the ends of the branches, and what stands one, three,
    /// seven and so on changes before these; and as many after each of the changes that are `told`.
    ///
    /// In ascending order. What is repeated in the answer is at most as much as this side has beyond the place where a
    /// branch leaves what the other side has; once the end of that is told, at most half as much.
    mutating func points(
        from fork: UInt64,
        told: [ChainPoint],
        atMost count: Int,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [ChainPoint] {
        var points = Set(told)
        if let root = try self.logHash(at: fork - 1, in: &transaction) {
            points.insert(ChainPoint(sequence: fork - 1, hash: root))
        }
        var ways: [(branch: Branch, start: UInt64, isForward: Bool)] = []
        for branch in try self.branches(in: &transaction) {
            guard let end = branch.first?.last else { continue }
            ways.append((branch, end, false))
            for point in told where try self.hash(at: point.sequence, on: branch, in: &transaction) == point.hash {
                ways.append((branch, point.sequence, true))
            }
        }
        var distance: UInt64 = 0
        while !ways.isEmpty {
            ways.removeAll { way in
                let end = way.branch.first?.last ?? 0
                return way.isForward ? way.start + distance > end : way.start < fork + distance
            }
            for way in ways {
                guard points.count < count else { return points.sorted() }
                let sequence = way.isForward ? way.start + distance : way.start - distance
                guard let hash = try self.hash(at: sequence, on: way.branch, in: &transaction) else { continue }
                points.insert(ChainPoint(sequence: sequence, hash: hash))
            }
            distance = distance * 2 + 1
        }
        return points.sorted()
    }

    /// A part of a branch that is not known to whoever knows some changes; nil if there is none.
    ///
    /// Nothing is sent to whom none of our changes is known: it would not know what that goes on from.
    mutating func missing(
        after points: [ChainPoint],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> BranchPart? {
        let known = try self.known(with: points, in: &transaction)
        for branch in try self.branches(in: &transaction) {
            guard let stretch = branch.first(where: { known[$0.place] != nil }) else { continue }
            let last = min(stretch.last, known[stretch.place] ?? 0)
            guard let next = branch.last(where: { $0.last > last }) else { continue }
            #if PLANTED_BUGS
            if PlantedBug.forkInBranchMissed.isPlanted, last > points[0].sequence { continue }
            #endif
            if let part = try self.part(at: next.place, after: last, in: &transaction) { return part }
        }
        return nil
    }

    /// How far each place is known to whoever knows some changes, and so all before them.
    private mutating func known(
        with points: [ChainPoint],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [Stretch.Place: UInt64] {
        var known: [Stretch.Place: UInt64] = [:]
        for point in points {
            var (place, sequence) = (try self.place(of: point, in: &transaction), point.sequence)
            while let found = place, known[found].map({ $0 < sequence }) ?? true {
                let isEntered = known.updateValue(sequence, forKey: found) != nil
                guard !isEntered, case .part(let number) = found else { break }
                let part = self.parts[number]
                sequence = part.first - 1
                place = try self.place(of: ChainPoint(sequence: sequence, hash: part.previous), in: &transaction)
            }
        }
        return known
    }

    private func part(
        at place: Stretch.Place,
        after last: UInt64,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> BranchPart? {
        switch place {
        case .log:
            guard let previous = try self.logHash(at: last, in: &transaction),
                let run = try transaction.loadRun(
                    of: self.index,
                    from: last + 1,
                    limits: TransferLimits.branch,
                    signed: true
                )
            else { return nil }
            return BranchPart(previous: previous, run: run)
        case .part(let number):
            // As it came, though its beginning may be known: its signature is over the last change.
            guard let bytes = try transaction.fact(NodeFact.branchRun(self.replica, part: number)) else { return nil }
            var reader = ByteReader(bytes)
            guard let previous = try? reader.bytes32(),
                let run = try? Run(decoding: Array(bytes.dropFirst(Bytes32.byteCount)))
            else { return nil }
            return BranchPart(previous: Hash256(bytes: previous), run: run)
        }
    }

    // MARK: - Keeping

    /// Bytes of all that is kept for others.
    ///
    /// A branch for which there is no room is left where it is.
    static let byteCountMax = 64 << 20
    /// Parts of one chain's branches: of a chain of a million changes there are a few hundred.
    static let partCountMax = 4096
    /// Branches of one chain of which a peer is told.
    static let branchCountMax = 64

    /// Remembers what is new in a part; the changes are kept with it for the device that wrote them, or not.
    ///
    /// `knownCount`: how many of its changes are known, all of them before the others.
    /// - Returns: False if there is no room.
    mutating func add(
        _ part: VerifiedRun,
        knownCount: Int,
        keepingChanges: Bool,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        let fresh = part.hashes.dropFirst(knownCount)
        guard let end = fresh.last, self.parts.count < BranchTree.partCountMax else { return false }
        let number = self.parts.count
        var hashes: [UInt8] = []
        hashes.reserveCapacity(fresh.count * Bytes32.byteCount)
        for hash in fresh { hash.bytes.append(to: &hashes) }
        if keepingChanges {
            var bytes: [UInt8] = []
            part.previous.bytes.append(to: &bytes)
            bytes += part.run.encoded()
            let held = try BranchTree.byteCount(in: &transaction) + bytes.count + hashes.count
            guard held <= BranchTree.byteCountMax else { return false }
            var total: [UInt8] = []
            total.appendVarint(UInt64(held))
            try transaction.setFact(NodeFact.branchByteCount, total)
            try transaction.setFact(NodeFact.branchRun(self.replica, part: number), bytes)
        }
        try transaction.setFact(NodeFact.branchHashes(self.replica, part: number), hashes)
        let first = part.run.firstSequence + UInt64(knownCount)
        let previous = knownCount == 0 ? part.previous : part.hashes[knownCount - 1]
        let last = ChainPoint(sequence: part.run.lastSequence, hash: end)
        self.parts.append(Part(first: first, previous: previous, last: last))
        self.loadedHashes[number] = Array(fresh)
        try transaction.setFact(NodeFact.branches(self.replica), self.encodedParts)
        return true
    }

    private static func byteCount(in transaction: inout some StoreTransaction) throws(StoreError) -> Int {
        guard let bytes = try transaction.fact(NodeFact.branchByteCount) else { return 0 }
        var reader = ByteReader(bytes)
        return (try? reader.count(atMost: self.byteCountMax)) ?? self.byteCountMax
    }

    private var encodedParts: [UInt8] {
        var bytes: [UInt8] = []
        for part in self.parts {
            bytes.appendVarint(part.first)
            bytes.appendVarint(part.last.sequence)
            part.previous.bytes.append(to: &bytes)
            part.last.hash.bytes.append(to: &bytes)
        }
        return bytes
    }

    private static func parts(decoding bytes: [UInt8]) throws(WireError) -> [Part] {
        var reader = ByteReader(bytes)
        var parts: [Part] = []
        while reader.remaining > 0 {
            let (first, last) = (try reader.varint(), try reader.varint())
            guard first >= 1, first <= last, last <= Limits.sequenceMax else { throw .overLimit }
            let previous = Hash256(bytes: try reader.bytes32())
            let end = ChainPoint(sequence: last, hash: Hash256(bytes: try reader.bytes32()))
            parts.append(Part(first: first, previous: previous, last: end))
        }
        return parts
    }
}
