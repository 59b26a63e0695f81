internal import CRDTCore

/// What a merge of several devices would do, beside moving data about.
struct Forecast {
    /// A property that two devices wrote without having seen each other's write.
    struct Conflict {
        var object: ObjectView
        var property: String
        var winner: WriteView
        var losers: [WriteView]
    }

    /// A move that does not stand after the merge.
    struct LostMove {
        enum Reason: String {
            /// It would put an object under itself.
            case cycle
            /// Another device moved the same object, later.
            case overridden
        }

        var object: ObjectView
        var reason: Reason
        var move: WriteView
        /// What stands instead.
        var winner: WriteView?
    }

    /// An object that one device deleted and that is there after the merge.
    struct Revival {
        var object: ObjectView
        /// The devices on which it is deleted now.
        var deletedOn: [String]
        var deletion: WriteView?
        /// What another device did to it; nil if it only shows because something below it lives.
        var edit: WriteView?
    }

    /// Changes that count now and would not count any more, and are not written again.
    struct Loss {
        var device: String
        var changeCount: Int
        var reason: String
        var examples: [String]
    }

    /// Changes that wait for their time.
    struct Held {
        var device: String
        var changeCount: Int
        var reason: String
    }

    /// By the number of the device.
    var lacks: [LogScan.Lack] = []
    /// Objects that show on a device now and are deleted elsewhere.
    var vanishingCounts: [Int] = []
    var largestLacks: [[(object: ObjectView, operationCount: Int)]] = []
    var conflicts: [Conflict] = []
    /// Conflicts that some device knows already.
    var olderConflictCount = 0
    var lostMoves: [LostMove] = []
    var revivals: [Revival] = []
    var losses: [Loss] = []
    var held: [Held] = []
    var blobReferenceCount = 0
    var visibleObjectCount = 0

    /// Whether somebody should look at what the merge decides.
    var needsLooking: Bool {
        !self.conflicts.isEmpty || !self.lostMoves.isEmpty || !self.revivals.isEmpty || !self.held.isEmpty
    }
}

/// Makes a forecast from the databases as they are and as they would be.
struct ForecastMaking {
    private let copies: [DeviceCopy]
    private let surveys: [DeviceSurvey]
    private let scan: LogScan
    /// The standings of all objects that some device lacks something of, before and after.
    private let before: [[ObjectID: ObjectStanding]]
    private let after: [ObjectID: ObjectStanding]
    private let objects: [ObjectID]

    private static let largestLacksShown = 20

    /// `initial`: each device's database; `merged`: one that has met all.
    static func forecast(
        _ copies: [DeviceCopy],
        _ surveys: [DeviceSurvey],
        initial: [OpenCopy],
        merged: OpenCopy,
        at now: WallTime
    ) throws(StoreError) -> Forecast {
        let scan = try merged.read { transaction throws(StoreError) in try LogScan(of: &transaction, for: surveys) }
        let objects = scan.objects.sorted()
        func standings(_ copy: OpenCopy) throws(StoreError) -> [ObjectID: ObjectStanding] {
            try copy.read { transaction throws(StoreError) in
                var standings: [ObjectID: ObjectStanding] = [:]
                for object in objects { standings[object] = try ObjectStanding(of: object, in: &transaction) }
                return standings
            }
        }
        var before: [[ObjectID: ObjectStanding]] = []
        for copy in initial { before.append(try standings(copy)) }
        let making = ForecastMaking(
            copies: copies,
            surveys: surveys,
            scan: scan,
            before: before,
            after: try standings(merged),
            objects: objects
        )
        return try merged.read { transaction throws(StoreError) in try making.forecast(in: &transaction, at: now) }
    }

    private func forecast(
        in transaction: inout some StoreTransaction,
        at now: WallTime
    ) throws(StoreError) -> Forecast {
        var forecast = Forecast()
        forecast.lacks = self.scan.lacks
        forecast.blobReferenceCount = self.scan.blobReferenceCount
        forecast.visibleObjectCount = try transaction.visibleObjects().count
        for (device, lack) in self.scan.lacks.enumerated() {
            let sorted = lack.operationsByObject.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            var largest: [(object: ObjectView, operationCount: Int)] = []
            for (object, count) in sorted.prefix(ForecastMaking.largestLacksShown) {
                largest.append((try ObjectView.of(object, in: &transaction), count))
            }
            forecast.largestLacks.append(largest)
            forecast.vanishingCounts.append(
                self.objects.count { object in
                    self.before[device][object]?.isVisible == true && self.after[object]?.isVisible == false
                }
            )
        }
        try self.addConflicts(to: &forecast, in: &transaction)
        try self.addLostMoves(to: &forecast, in: &transaction)
        try self.addRevivals(to: &forecast, in: &transaction)
        try self.addLosses(to: &forecast, in: &transaction)
        try self.addHeld(to: &forecast, in: &transaction, at: now)
        return forecast
    }

    // MARK: - Values

    private func addConflicts(
        to forecast: inout Forecast,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        for (key, register) in try transaction.conflictedRegisters() {
            guard try transaction.object(key.object).isVisible else { continue }
            let winner = WriteID(register.winner, in: transaction)
            var losers: [WriteView] = []
            let conflicts = try transaction.conflicts(at: key)
            for conflict in conflicts.sorted(by: { WriteOrder.precedes($1, $0, transaction) }) {
                let loser = WriteID(conflict, in: transaction)
                if self.surveys.contains(where: { $0.holds(winner) && $0.holds(loser) }) {
                    forecast.olderConflictCount += 1
                } else {
                    losers.append(try WriteView(conflict, in: &transaction))
                }
            }
            guard !losers.isEmpty else { continue }
            forecast.conflicts.append(
                Forecast.Conflict(
                    object: try ObjectView.of(key.object, in: &transaction),
                    property: PlainLine.printable(try transaction.name(key.name)),
                    winner: try WriteView(register.winner, in: &transaction),
                    losers: losers
                )
            )
        }
        forecast.conflicts.sort { ($0.object.id, $0.property) < ($1.object.id, $1.property) }
    }

    // MARK: - Places

    private func addLostMoves(
        to forecast: inout Forecast,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        var undone: Set<WriteID> = []
        for move in try transaction.movesWithoutEffect() {
            let id = WriteID(move.write, in: transaction)
            undone.insert(id)
            let stood = self.surveys.contains { $0.holds(id) && !$0.movesWithoutEffect.contains(id) }
            guard stood, try transaction.object(move.object).isVisible else { continue }
            forecast.lostMoves.append(
                Forecast.LostMove(
                    object: try ObjectView.of(move.object, in: &transaction),
                    reason: .cycle,
                    move: try WriteView(move.write, in: &transaction),
                    winner: nil
                )
            )
        }
        for object in self.objects {
            guard let after = self.after[object], after.isVisible, let winner = after.move else { continue }
            let moves = Set(self.before.compactMap { $0[object]?.move }).sorted()
            for move in moves where move != winner && !undone.contains(move) {
                guard !self.scan.had(move, seenBy: winner) else { continue }
                guard let lost = try self.view(move, in: &transaction) else { continue }
                forecast.lostMoves.append(
                    Forecast.LostMove(
                        object: try ObjectView.of(object, in: &transaction),
                        reason: .overridden,
                        move: lost,
                        winner: try self.view(winner, in: &transaction)
                    )
                )
            }
        }
    }

    private func view(
        _ write: WriteID,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> WriteView? {
        guard let replica = transaction.existingReplicaIndex(of: write.replica),
            let stamp = try transaction.stamp(of: replica, sequence: write.sequence)
        else { return nil }
        let reference = WriteReference(stamp: stamp, replica: replica, sequence: write.sequence, index: write.index)
        return try WriteView(reference, in: &transaction)
    }

    // MARK: - Life

    private func addRevivals(
        to forecast: inout Forecast,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        for object in self.objects {
            guard let after = self.after[object], after.isVisible else { continue }
            let deleted = self.before.indices.filter { device in
                let standing = self.before[device][object]
                return standing?.isKnown == true && standing?.isAlive == false && standing?.isVisible == false
            }
            guard !deleted.isEmpty else { continue }
            let edit = after.isAlive ? self.scan.touches[object] : nil
            let deletion = self.scan.deletions[object]
            if let edit, let deletion {
                // Who made it again knowing that it was deleted wanted just that.
                let made = WriteID(edit, in: transaction)
                if self.scan.had(WriteID(deletion, in: transaction), seenBy: made) { continue }
            }
            forecast.revivals.append(
                Forecast.Revival(
                    object: try ObjectView.of(object, in: &transaction),
                    deletedOn: deleted.map { PlainLine.printable(self.copies[$0].name) },
                    deletion: try deletion.map { write throws(StoreError) in
                        try WriteView(write, in: &transaction)
                    },
                    edit: try edit.map { write throws(StoreError) in try WriteView(write, in: &transaction) }
                )
            )
        }
    }

    // MARK: - What would be lost

    private func addLosses(
        to forecast: inout Forecast,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        var rewritten: Set<Edit>?
        for position in 0..<transaction.replicaCount {
            let index = ReplicaIndex(rawValue: UInt32(position))
            let record = transaction.replica(index)
            let counting = min(record.storedSequence, record.exclusion?.lastSequence ?? .max)
            let countedBefore = self.surveys.map { $0.counted[record.id] ?? 0 }.max() ?? 0
            guard counting < countedBefore else { continue }
            if rewritten == nil { rewritten = try self.freshEdits(in: &transaction) }
            let fresh = rewritten ?? []
            var loss = Forecast.Loss(
                device: PlainLine.printable(record.introduction?.deviceName ?? "?"),
                changeCount: 0,
                reason: record.exclusion.map { "\($0.reason)" } ?? "missing",
                examples: []
            )
            for sequence in counting + 1...countedBefore {
                let dot = Dot(replica: record.id, sequence: sequence)
                let edits = try LogReading.edits(at: dot, in: &transaction) ?? []
                let lost = edits.filter { $0.object != nil && !fresh.contains($0) }
                guard !lost.isEmpty || edits.isEmpty else { continue }
                loss.changeCount += 1
                if loss.examples.count < 5, let first = lost.first { loss.examples.append("\(first.kind)") }
            }
            if loss.changeCount > 0 { forecast.losses.append(loss) }
        }
    }

    /// What was written during the meetings: changes of a device that had to write again what did not count.
    private func freshEdits(in transaction: inout some StoreTransaction) throws(StoreError) -> Set<Edit> {
        var edits: Set<Edit> = []
        for position in 0..<transaction.replicaCount {
            let record = transaction.replica(ReplicaIndex(rawValue: UInt32(position)))
            let known = self.surveys.map { $0.stored[record.id] ?? 0 }.max() ?? 0
            guard known < record.storedSequence else { continue }
            for sequence in known + 1...record.storedSequence where record.isEffective(sequence) {
                let dot = Dot(replica: record.id, sequence: sequence)
                edits.formUnion(try LogReading.edits(at: dot, in: &transaction) ?? [])
            }
        }
        return edits
    }

    private func addHeld(
        to forecast: inout Forecast,
        in transaction: inout some StoreTransaction,
        at now: WallTime
    ) throws(StoreError) {
        let waits = try Merge.waits(at: now, in: &transaction)
        for (index, wait) in waits.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            let record = transaction.replica(index)
            let reason: String
            switch wait {
            case .held(let until): reason = "in the future, applied from \(PlainLine.time(until.milliseconds)) on"
            case .missing: reason = "made on changes that none of these devices has"
            }
            forecast.held.append(
                Forecast.Held(
                    device: PlainLine.printable(record.introduction?.deviceName ?? "?"),
                    changeCount: Int(clamping: record.storedSequence - record.appliedSequence),
                    reason: reason
                )
            )
        }
    }
}
