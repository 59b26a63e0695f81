/// A store that keeps everything in memory: for simulation, tests, and merges that need not last.
package struct MemoryStore: ReplicaStore, Sendable {
    private var content: MemoryTransaction

    /// - Parameter origin: the hash before every replica's first change.
    package init(origin: Hash256) {
        self.content = MemoryTransaction(origin: origin)
    }

    package mutating func write<Result>(
        _ body: (inout MemoryTransaction) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        defer { self.content.lastCommit += 1 }
        return try body(&self.content)
    }

    package mutating func read<Result>(
        _ body: (inout MemoryTransaction) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        try body(&self.content)
    }
}

/// The rows of a `MemoryStore`.
package struct MemoryTransaction: StoreTransaction, Sendable {
    private let origin: Hash256
    private var segments: [SegmentRecord] = []
    /// The numbers of the replicas, and the first segment of each.
    private var replicaNumbers = KeyNumbers<ReplicaID>()
    private var firstSegments: [SegmentIndex] = []
    private var lastSegments: [SegmentIndex] = []
    package private(set) var circles = CircleTable()
    private var names: [String] = []
    private var nameNumbers = KeyNumbers<ExactText>()
    private var objectNumbers = KeyNumbers<CircledObjectID>()
    private var objects: [ObjectRecord] = []
    /// The commit that changed each object last.
    private var changed: [Int64] = []
    package fileprivate(set) var lastCommit: Int64 = 0
    private var siblings: [SiblingLinks] = []
    private var chains: [MemoryChain] = []
    private var registers = MemoryRegisters()
    private var moveLog = MemoryMoves()
    private var redacted: [RegisterKey: [SegmentIndex: RedactedWrites]] = [:]
    private var missing: [SegmentPoint: Int] = [:]
    var erasures: [RegisterKey: [SegmentIndex: (erasure: PendingErasure, due: WallTime?)]] = [:]
    var undos = MemoryUndos()
    var actions = MemoryActions()
    private var raised: [SegmentPoint: RaisedStamp] = [:]
    package private(set) var restamps = RestampTable()
    private var restampedChains: [ReplicaID: RestampedChain] = [:]
    package private(set) var branches = BranchTable()
    package private(set) var rights = RightsTable()
    package var forks = ForkIndex()
    package var knownFrontier: Frontier?
    package var overlay = CircleOverlay()
    package mutating func setReader(_ reader: CircleReader) { self.circles.reader = reader }

    package mutating func setClosedCircles(_ circles: Set<CircleIndex>) {
        self.circles.closed = circles
        self.overlay = CircleOverlay()
    }

    /// What the owner of the store keeps beside the log; it is put back with it.
    package var beside: (any Sendable)?

    /// The children of an object are a list in no particular order, tied together by their numbers; -1 is none.
    private struct SiblingLinks: Sendable {
        var firstChild: Int32 = -1
        var next: Int32 = -1
        var previous: Int32 = -1
    }

    init(origin: Hash256) {
        self.origin = origin
    }

    // MARK: - Numbers for ids

    package mutating func objectIndex(of id: ObjectID, in circle: CircleIndex) -> ObjectIndex {
        if let index = self.existingObjectIndex(of: id, in: circle) { return index }
        let index = ObjectIndex(rawValue: UInt32(self.objects.count))
        self.objects.append(ObjectRecord(id: id, circle: circle))
        self.changed.append(self.lastCommit + 1)
        self.siblings.append(SiblingLinks())
        self.objectNumbers.append(CircledObjectID(id, in: circle))
        return index
    }

    // Of home, as every store has them; here they cannot fail.
    package mutating func objectIndex(of id: ObjectID) -> ObjectIndex { self.objectIndex(of: id, in: .home) }

    package mutating func nameIndex(of name: String) -> NameIndex {
        if let number = self.nameNumbers.number(of: ExactText(name)) { return NameIndex(rawValue: number) }
        let index = NameIndex(rawValue: UInt32(self.names.count))
        self.names.append(name)
        self.nameNumbers.append(ExactText(name))
        return index
    }

    package mutating func existingObjectIndex(of id: ObjectID, in circle: CircleIndex) -> ObjectIndex? {
        self.objectNumbers.number(of: CircledObjectID(id, in: circle)).map { ObjectIndex(rawValue: $0) }
    }

    package mutating func existingNameIndex(of name: String) -> NameIndex? {
        self.nameNumbers.number(of: ExactText(name)).map { NameIndex(rawValue: $0) }
    }

    package mutating func name(_ index: NameIndex) -> String { self.names[Int(index.rawValue)] }

    // MARK: - Segments and the log

    package var segmentCount: Int { self.segments.count }

    package func segment(_ index: SegmentIndex) -> SegmentRecord { self.segments[Int(index.rawValue)] }

    package func replicaID(_ index: SegmentIndex) -> ReplicaID { self.segments[Int(index.rawValue)].id }

    package func origin(of index: SegmentIndex) -> SegmentOrigin? { self.segments[Int(index.rawValue)].origin }

    package func storedHash(of index: SegmentIndex) -> Hash256 { self.segments[Int(index.rawValue)].storedHash }

    package func progress(of index: SegmentIndex) -> SegmentProgress { self.segments[Int(index.rawValue)].progress }

    package mutating func setSegment(_ record: consuming SegmentRecord, at index: SegmentIndex) {
        self.knownFrontier = nil
        self.segments[Int(index.rawValue)] = record
    }

    package mutating func addSegment(_ record: consuming SegmentRecord) -> SegmentIndex {
        self.knownFrontier = nil
        record.circle = self.circles.take(record.introduction)
        let index = SegmentIndex(rawValue: UInt32(self.segments.count))
        if let number = self.replicaNumbers.number(of: record.id) {
            self.segments[Int(self.lastSegments[Int(number)].rawValue)].next = index
            self.lastSegments[Int(number)] = index
        } else {
            self.replicaNumbers.append(record.id)
            self.firstSegments.append(index)
            self.lastSegments.append(index)
        }
        self.segments.append(record)
        self.chains.append(MemoryChain())
        return index
    }

    package func firstSegment(of id: ReplicaID) -> SegmentIndex? {
        self.replicaNumbers.number(of: id).map { self.firstSegments[Int($0)] }
    }

    package mutating func appendLog(_ verified: VerifiedRun, indexes: RunIndexes) {
        self.chains[Int(indexes.segment.rawValue)].append(verified)
        self.indexFork(verified, on: indexes.segment)
    }

    package mutating func replaceChange(at point: SegmentPoint, by run: Run, indexes: RunIndexes) {
        self.chains[Int(point.segment.rawValue)].replace(point.sequence, by: run)
    }

    package mutating func redactedWrites(at key: RegisterKey) -> [RedactedWrites] {
        guard let found = self.redacted[key] else { return [] }
        return found.values.sorted { $0.segment.rawValue < $1.segment.rawValue }
    }

    package mutating func redactedWrites(at key: RegisterKey, on segment: SegmentIndex) -> RedactedWrites? {
        self.redacted[key]?[segment]
    }

    package mutating func setRedactedWrites(
        _ redacted: RedactedWrites?,
        at key: RegisterKey,
        on segment: SegmentIndex
    ) {
        self.redacted[key, default: [:]][segment] = redacted
        if self.redacted[key]?.isEmpty ?? false { self.redacted[key] = nil }
    }

    package mutating func repairChange(at point: SegmentPoint, by run: Run, indexes: RunIndexes, places: [UInt32]) {
        self.replaceChange(at: point, by: run, indexes: indexes)
    }

    package mutating func propertiesWithRedactedWrites(after key: RegisterKey?, limit: Int) -> [RegisterKey] {
        guard !self.redacted.isEmpty else { return [] }
        let keys = self.redacted.keys.filter { candidate in key.map { $0.packed < candidate.packed } ?? true }
        return Array(keys.sorted { $0.packed < $1.packed }.prefix(limit))
    }

    package mutating func missingCount(in change: SegmentPoint) -> Int {
        self.missing.isEmpty ? 0 : self.missing[change] ?? 0
    }

    package mutating func setMissingCount(_ count: Int, in change: SegmentPoint) {
        self.missing[change] = count == 0 ? nil : count
    }

    package mutating func changesMissingContent(after change: SegmentPoint?, limit: Int) -> [SegmentPoint] {
        guard !self.missing.isEmpty else { return [] }
        let changes = self.missing.keys.filter { candidate in change.map { $0 < candidate } ?? true }
        return Array(changes.sorted().prefix(limit))
    }

    package mutating func supersededWrites(
        at key: RegisterKey,
        upTo limit: Int,
        where isWanted: (WriteReference) -> Bool
    ) throws(StoreError) -> [WriteReference] {
        guard let register = self.register(key) else { return [] }
        let shown = Set(self.conflicts(at: key).map { [UInt64($0.segment.rawValue), $0.ordinal.rawValue] })
        var found: [WriteReference] = []
        for write in try self.appliedHistory(of: key.object) {
            switch try self.edit(write) {
            case .set(_, let name, _), .unset(_, let name):
                guard self.nameIndex(of: name) == key.name else { continue }
            default: continue
            }
            let isWinner = register.winner.segment == write.segment && register.winner.ordinal == write.ordinal
            guard !isWinner, !shown.contains([UInt64(write.segment.rawValue), write.ordinal.rawValue]), isWanted(write)
            else { continue }
            if found.count >= limit { break }
            found.append(write)
        }
        return found
    }

    package mutating func header(at point: SegmentPoint) -> ChangeHeader? {
        self.chains[Int(point.segment.rawValue)].header(point.sequence)
    }

    package mutating func contexts(of segment: SegmentIndex, after sequence: UInt64, through last: UInt64) -> [Point] {
        self.chains[Int(segment.rawValue)].contexts(after: sequence, through: last)
    }

    package mutating func loadRun(
        of segment: SegmentIndex,
        from sequence: UInt64,
        limits: RunLimits,
        signed: Bool
    ) -> Run? {
        let record = self.segments[Int(segment.rawValue)]
        guard var run = self.chains[Int(segment.rawValue)].load(from: sequence, limits: limits, signed: signed) else {
            return nil
        }
        // Whoever has one fork alone need not know that there is another.
        if record.origin != nil || record.next != nil {
            let isFirst = sequence == record.firstSequence
            let before = isFirst ? record.origin?.parent : SegmentPoint(segment: segment, sequence: sequence - 1)
            run.previous = before.flatMap { self.header(at: $0) }.map { ChangeName($0.hash) }
        }
        return run
    }

    package mutating func raisedStamp(at point: SegmentPoint) -> RaisedStamp? { self.raised[point] }

    package mutating func setRaisedStamp(_ stamp: RaisedStamp?, at point: SegmentPoint) { self.raised[point] = stamp }

    package mutating func raisedStamps(causedBy point: SegmentPoint) -> [SegmentPoint] {
        self.raised.filter { $0.value.cause == point }.keys.sorted()
    }

    package mutating func addRestamp(_ record: RestampRecord) {
        self.restamps.add(record)
    }

    package mutating func settleRestamp(_ record: RestampRecord) { self.restamps.settle(record) }

    package func restampedChain(of replica: ReplicaID) -> RestampedChain? { self.restampedChains[replica] }

    package mutating func setRestampedChain(_ chain: RestampedChain?, of replica: ReplicaID) {
        self.restampedChains[replica] = chain
    }

    package mutating func prepareContexts() {}

    package mutating func setCheckpoint(_ checkpoint: Checkpoint, at place: SegmentPoint) {
        self.chains[Int(place.segment.rawValue)].setCheckpoint(checkpoint, at: place.sequence)
    }

    package mutating func checkpoint(
        of segment: SegmentIndex,
        upTo sequence: UInt64
    ) -> (sequence: UInt64, checkpoint: Checkpoint)? {
        self.chains[Int(segment.rawValue)].checkpoint(upTo: sequence)
    }

    package mutating func checkpoints(of segment: SegmentIndex) -> [(sequence: UInt64, checkpoint: Checkpoint)] {
        self.chains[Int(segment.rawValue)].checkpoints
    }

    package mutating func removeCheckpoints(of segment: SegmentIndex, after sequence: UInt64) {
        self.chains[Int(segment.rawValue)].removeCheckpoints(after: sequence)
        self.chains[Int(segment.rawValue)].keptContexts = nil
    }

    package func keptContexts(of segment: SegmentIndex) -> [KeptContext]? {
        self.chains[Int(segment.rawValue)].keptContexts
    }

    package mutating func setKeptContexts(_ contexts: [KeptContext]?, of segment: SegmentIndex) {
        self.chains[Int(segment.rawValue)].keptContexts = contexts
    }

    package mutating func isRedacted(_ write: WriteReference) -> Bool {
        self.chains[Int(write.segment.rawValue)].kind(write.index, of: write.sequence) == .redacted
    }

    package mutating func edit(_ write: WriteReference) throws(StoreError) -> Edit? {
        do throws(WireError) {
            return try self.chains[Int(write.segment.rawValue)].edit(write.index, of: write.sequence)
        } catch {
            throw .damaged("an operation in the log cannot be read")
        }
    }

    // MARK: - Branches of the workspace

    package mutating func addBranch(_ record: BranchRecord) { self.branches.add(record) }

    package mutating func addRights(_ place: StatementPlace) {
        self.rights.add(place, in: self.progress(of: place.change.segment).circle)
    }

    package mutating func setRights(_ rights: RightsTable) { self.rights = rights }

    // Like writes that are superseded, they are found in the log.
    package mutating func addUnmerged(_ operation: UnmergedOperation) {}
    package mutating func removeUnmerged(_ point: SegmentPoint, of object: ObjectIndex) {}

    package mutating func unmergedOperations(on object: ObjectIndex) throws(StoreError) -> [UnmergedOperation] {
        var found: [UnmergedOperation] = []
        let circle = self.objects[Int(object.rawValue)].circle
        for write in try self.history(of: object) {
            let progress = self.progress(of: write.segment)
            guard write.sequence > progress.countedSequence, write.sequence <= progress.appliedSequence,
                let edit = try self.edit(write), try self.countsByRight(write)
            else { continue }
            var (name, parent): (NameIndex, ObjectIndex?) = (.lifetime, nil)
            switch edit {
            case .set(_, let text, _), .unset(_, let text): name = self.nameIndex(of: text)
            case .move(_, let place):
                name = .place
                parent = place.parent.map { self.objectIndex(of: $0, in: circle) }
            default: break
            }
            let key = RegisterKey(object: object, name: name)
            found.append(UnmergedOperation(key: key, write: write, kind: edit.kind, parent: parent))
        }
        return found
    }

    package mutating func unmergedOperations(at key: RegisterKey) throws(StoreError) -> [UnmergedOperation] {
        try self.unmergedOperations(on: key.object).filter { $0.key == key }
    }

    package mutating func lastUnmerged(
        at key: RegisterKey,
        on segment: SegmentIndex,
        upTo sequence: UInt64
    ) throws(StoreError) -> UnmergedOperation? {
        try self.unmergedOperations(at: key).last { $0.segment == segment && $0.sequence <= sequence }
    }

    package mutating func objectsUnmerged(below parent: ObjectIndex?) throws(StoreError) -> [ObjectIndex] {
        var found: [ObjectIndex] = []
        for position in self.objects.indices {
            let object = ObjectIndex(rawValue: UInt32(position))
            let operations = try self.unmergedOperations(on: object)
            if operations.contains(where: { $0.kind == .move && $0.parent == parent }) { found.append(object) }
        }
        return found
    }

    // MARK: - Registers

    package mutating func register(_ key: RegisterKey) -> Register? { self.registers.register(key) }

    package mutating func setRegister(_ register: Register, at key: RegisterKey) {
        self.registers.set(register, at: key)
    }

    package mutating func addVersion(_ write: WriteReference, status: VersionStatus, at key: RegisterKey) {
        if status == .conflict { self.registers.addConflict(write, at: key) }
    }

    package mutating func setVersion(_ write: WriteReference, status: VersionStatus, at key: RegisterKey) {
        self.registers.removeConflict(write, at: key)
        self.addVersion(write, status: status, at: key)
    }

    package mutating func restampVersion(_ write: WriteReference, to stamp: Stamp, at key: RegisterKey) {
        self.registers.restampConflict(write, to: stamp, at: key)
    }

    package mutating func removeVersion(_ write: WriteReference, at key: RegisterKey) {
        self.registers.removeConflict(write, at: key)
    }

    package mutating func conflicts(at key: RegisterKey) -> [WriteReference] { self.registers.conflicts(at: key) }

    package mutating func removeRegister(_ key: RegisterKey) { self.registers.remove(key) }

    /// Superseded writes, creations and deletions have no rows here: the whole log is looked through.
    package mutating func history(of object: ObjectIndex) throws(StoreError) -> [WriteReference] {
        let (id, circle) = (self.objects[Int(object.rawValue)].id, self.objects[Int(object.rawValue)].circle)
        var found: [WriteReference] = []
        for (number, chain) in self.chains.enumerated() where self.segments[number].circle == circle {
            for stored in chain.runs {
                let run = stored.run
                guard let wanted = run.objects.firstIndex(of: id) else { continue }
                for (position, change) in run.changes.enumerated() {
                    for place in change.operationRange where run.operations[place].kind.isEdit {
                        guard run.operations[place].object == UInt32(wanted) else { continue }
                        var write = WriteReference(
                            stamp: change.stamp,
                            segment: SegmentIndex(rawValue: UInt32(number)),
                            sequence: run.firstSequence + UInt64(position),
                            index: UInt32(place) - change.operationStart
                        )
                        // As it is ordered, if it is.
                        if write.sequence <= self.progress(of: write.segment).appliedSequence {
                            write.stamp = try self.effectiveStamp(at: write.point)
                        }
                        if run.operations[place].kind == .redacted {
                            let key = RegisterKey(
                                object: object,
                                name: self.nameIndex(of: run.name(of: run.operations[place]))
                            )
                            let isCounted = write.sequence <= self.progress(of: write.segment).countedSequence
                            let isRecorded = try self.isRecorded(write.ordinal, on: write.segment, at: key)
                            guard isRecorded || !isCounted else { continue }
                        }
                        found.append(write)
                    }
                }
            }
        }
        return found
    }

    /// The operations on an object that are applied, as they are ordered now.
    private mutating func appliedHistory(of object: ObjectIndex) throws(StoreError) -> [WriteReference] {
        var found: [WriteReference] = []
        for write in try self.history(of: object)
        where write.sequence <= self.progress(of: write.segment).countedSequence {
            if try self.countsByRight(write) { found.append(write) }
        }
        return found
    }

    package mutating func creations(of object: ObjectIndex) throws(StoreError) -> [WriteReference] {
        var found: [WriteReference] = []
        for write in try self.appliedHistory(of: object) where try self.edit(write)?.kind == .create {
            found.append(write)
        }
        return found
    }

    package mutating func objectsWithDifferentCreations() -> [ObjectIndex] {
        var kinds: [CircledObjectID: Set<[ExactText]>] = [:]
        for (number, chain) in self.chains.enumerated() {
            let segment = SegmentIndex(rawValue: UInt32(number))
            let last = min(self.progress(of: segment).countedSequence, self.rights.limits(of: segment)?.writer ?? .max)
            for stored in chain.runs {
                let run = stored.run
                for (position, change) in run.changes.enumerated()
                where run.firstSequence + UInt64(position) <= last {
                    for place in change.operationRange where run.operations[place].kind == .create {
                        let operation = run.operations[place]
                        guard let body = try? CreationBody(decoding: run.payload, at: operation.payloadRange) else {
                            continue
                        }
                        let id = run.objects[Int(operation.object)]
                        let object = CircledObjectID(id, in: self.segments[number].circle)
                        kinds[object, default: []].insert([ExactText(body.type), ExactText(body.kind)])
                    }
                }
            }
        }
        let found = kinds.filter { $0.value.count > 1 }.keys.sorted { ($0.id, $0.circle) < ($1.id, $1.circle) }
        return found.map { self.objectIndex(of: $0.id, in: $0.circle) }
    }

    package mutating func deletions(of object: ObjectIndex) throws(StoreError) -> [WriteReference] {
        var found: [WriteReference] = []
        for write in try self.appliedHistory(of: object) where try self.edit(write)?.kind == .delete {
            found.append(write)
        }
        return found
    }

    package mutating func lastWrites(
        at key: RegisterKey,
        through stamp: Stamp,
        where isWanted: (WriteReference) -> Bool
    ) throws(StoreError) -> [WriteReference] {
        var found: [WriteReference] = []
        for write in try self.appliedHistory(of: key.object) where write.stamp <= stamp && isWanted(write) {
            switch try self.edit(write) {
            case .set(_, let name, _), .unset(_, let name), .redacted(_, let name, _):
                guard self.nameIndex(of: name) == key.name else { continue }
            default: continue
            }
            if let first = found.first, first.stamp > write.stamp { continue }
            if let first = found.first, first.stamp < write.stamp { found = [] }
            found.append(write)
        }
        return found
    }

    package mutating func lastStamp(of object: ObjectIndex) throws(StoreError) -> Stamp {
        try self.appliedHistory(of: object).map(\.stamp).max() ?? .zero
    }

    package mutating func registers(of object: ObjectIndex) -> [(NameIndex, Register)] {
        self.registers.all(of: object)
    }

    package mutating func conflictedRegisters() -> [(RegisterKey, Register)] {
        self.registers.conflicted
    }

    // MARK: - Objects and moves

    package mutating func object(_ index: ObjectIndex) -> ObjectRecord { self.objects[Int(index.rawValue)] }

    package mutating func parent(of index: ObjectIndex) -> ObjectIndex? { self.objects[Int(index.rawValue)].parent }

    package mutating func look<Result>(at object: ObjectIndex, _ body: (ObjectRecord) -> Result) -> Result {
        body(self.objects[Int(object.rawValue)])
    }

    package mutating func update<Result>(_ object: ObjectIndex, _ change: (inout ObjectRecord) -> Result) -> Result {
        let position = Int(object.rawValue)
        let before = self.objects[position].parent
        let result = change(&self.objects[position])
        self.changed[position] = self.lastCommit + 1
        let after = self.objects[position].parent
        if before != after {
            if let before { self.unlink(object, from: before) }
            if let after { self.link(object, under: after) }
        }
        return result
    }

    private mutating func link(_ child: ObjectIndex, under parent: ObjectIndex) {
        let first = self.siblings[Int(parent.rawValue)].firstChild
        self.siblings[Int(child.rawValue)].next = first
        if first >= 0 { self.siblings[Int(first)].previous = Int32(child.rawValue) }
        self.siblings[Int(parent.rawValue)].firstChild = Int32(child.rawValue)
    }

    private mutating func unlink(_ child: ObjectIndex, from parent: ObjectIndex) {
        let (next, previous) = (self.siblings[Int(child.rawValue)].next, self.siblings[Int(child.rawValue)].previous)
        if next >= 0 { self.siblings[Int(next)].previous = previous }
        if previous >= 0 {
            self.siblings[Int(previous)].next = next
        } else {
            self.siblings[Int(parent.rawValue)].firstChild = next
        }
        self.siblings[Int(child.rawValue)].next = -1
        self.siblings[Int(child.rawValue)].previous = -1
    }

    package mutating func children(of parent: ObjectIndex?) -> [ObjectIndex] {
        var found: [ObjectIndex] = []
        if let parent {
            var child = self.siblings[Int(parent.rawValue)].firstChild
            while child >= 0 {
                found.append(ObjectIndex(rawValue: UInt32(child)))
                child = self.siblings[Int(child)].next
            }
        } else {
            found = self.objects.indices.filter { self.objects[$0].parent == nil }
                .map { ObjectIndex(rawValue: UInt32($0)) }
        }
        return found.sorted { left, right in
            let (left, right) = (self.objects[Int(left.rawValue)], self.objects[Int(right.rawValue)])
            guard left.position == right.position else { return left.position < right.position }
            return (left.id, left.circle) < (right.id, right.circle)
        }
    }

    package mutating func visibleObjects() -> [ObjectIndex] {
        self.objects.indices.filter { self.objects[$0].isVisible }
            .sorted { self.listingKey($0) < self.listingKey($1) }
            .map { ObjectIndex(rawValue: UInt32($0)) }
    }

    /// What objects are listed by.
    private func listingKey(_ position: Int) -> (ObjectID, CircleIndex) {
        (self.objects[position].id, self.objects[position].circle)
    }

    package mutating func changePlaces(after place: ChangePlace, limit: Int) -> [ChangePlace] {
        let places = self.changed.enumerated().map { ChangePlace(commit: $0.element, object: Int64($0.offset)) }
        return Array(places.filter { place < $0 }.sorted().prefix(limit))
    }

    package mutating func addMove(_ move: MoveRecord) { self.moveLog.add(move) }

    package mutating func setMove(_ move: MoveRecord) { self.moveLog.set(move, self.segments) }

    package mutating func removeMove(_ write: WriteReference, of object: ObjectIndex) -> WriteReference? {
        self.moveLog.remove(write, of: object, self.segments)
    }

    package mutating func objectsWithOpenMoves() -> [ObjectIndex] {
        self.objects.indices.filter { !self.objects[$0].otherOpenMoves.isEmpty }
            .map { ObjectIndex(rawValue: UInt32($0)) }
    }

    package mutating func moves(after write: WriteReference) -> [MoveRecord] {
        self.moveLog.after(write, self.segments)
    }

    package mutating func moveCount(from stamp: Stamp, upTo limit: Int) -> Int {
        self.moveLog.count(from: stamp, upTo: limit, self.segments)
    }

    package mutating func lastEffectiveMove(of object: ObjectIndex, before write: WriteReference) -> MoveRecord? {
        self.moveLog.lastEffective(of: object, before: write, self.segments)
    }

    package mutating func objectsOutsideOfHome() -> [ObjectIndex] {
        self.objects.indices.filter { self.objects[$0].circle != .home }.map { ObjectIndex(rawValue: UInt32($0)) }
    }

    package mutating func knownObjects(after last: CircledObjectID?, limit: Int) -> [ObjectIndex] {
        let behind = self.objects.indices.filter { position in
            last.map { ($0.id, $0.circle) < self.listingKey(position) } ?? true
        }
        let sorted = behind.sorted { self.listingKey($0) < self.listingKey($1) }
        return sorted.prefix(limit).map { ObjectIndex(rawValue: UInt32($0)) }
    }

    package mutating func lastEffectiveMove(of object: ObjectIndex, through stamp: Stamp) -> MoveRecord? {
        self.allMoves.last { $0.object == object && $0.isEffective && $0.write.stamp <= stamp }
    }

    package mutating func moves(of object: ObjectIndex) -> [MoveRecord] {
        self.allMoves.filter { $0.object == object }
    }

    package mutating func objectsEverBelow(_ parent: ObjectIndex?) -> [ObjectIndex] {
        let moved = Set(self.allMoves.filter { $0.parent == parent }.map(\.object))
        guard parent == nil else { return Array(moved) }
        return self.objects.indices.map { ObjectIndex(rawValue: UInt32($0)) }
    }

    private var allMoves: [MoveRecord] {
        mutating get {
            let start = WriteReference(stamp: .zero, segment: SegmentIndex(rawValue: 0), sequence: 0, index: 0)
            return self.moveLog.after(start, self.segments)
        }
    }

    package mutating func movesWithoutEffect() -> [MoveRecord] {
        self.moveLog.withoutEffect(self.segments)
    }

    // MARK: - All of it

    package mutating func clearDerivedState() {
        self.registers = MemoryRegisters()
        self.redacted = [:]
        self.missing = [:]
        self.erasures = [:]
        self.moveLog = MemoryMoves()
        self.undos = MemoryUndos()
        self.actions = MemoryActions()
        self.raised = [:]
        for position in self.chains.indices {
            self.chains[position].removeCheckpoints(after: 0)
            self.chains[position].keptContexts = nil
        }
        for position in self.objects.indices {
            self.siblings[position] = SiblingLinks()
            self.objects[position] = ObjectRecord(id: self.objects[position].id, circle: self.objects[position].circle)
            self.changed[position] = self.lastCommit + 1
        }
    }
}
