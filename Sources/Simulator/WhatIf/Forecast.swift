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
            /// Another device moved the same object, later: both moves are shown as a conflict.
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
            var losers: [WriteView] = []
            let conflicts = try transaction.conflicts(at: key)
            for conflict in conflicts.sorted(by: { WriteOrder.precedes($1, $0, transaction) }) {
                if self.scan.isKnown(conflict, beside: register.winner) {
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
        for move in try transaction.movesWithoutEffect() {
            let id = try WriteID(move.write, in: &transaction)
            let stood = self.surveys.indices.contains { device in
                self.scan.holds(move.write.point, device: device)
                    && !self.surveys[device].movesWithoutEffect.contains(id)
            }
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
        let open = try transaction.objectsWithOpenMoves()
        for object in open.sorted(by: { $0.rawValue < $1.rawValue }) {
            guard try transaction.object(object).isVisible else { continue }
            let moves = try transaction.openMoves(of: object)
            guard let winner = moves.last else { continue }
            for move in moves.dropLast() {
                guard !self.scan.isKnown(move, beside: winner) else {
                    forecast.olderConflictCount += 1
                    continue
                }
                forecast.lostMoves.append(
                    Forecast.LostMove(
                        object: try ObjectView.of(object, in: &transaction),
                        reason: .overridden,
                        move: try WriteView(move, in: &transaction),
                        winner: try WriteView(winner, in: &transaction)
                    )
                )
            }
        }
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
                if try transaction.had(deletion, seenBy: edit) { continue }
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

    // MARK: - What waits

    private func addHeld(
        to forecast: inout Forecast,
        in transaction: inout some StoreTransaction,
        at now: WallTime
    ) throws(StoreError) {
        var merge = Merge(now: now, founder: self.copies[0].founder)
        let waits = try merge.waits(in: &transaction)
        for (index, wait) in waits.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            let record = transaction.line(index)
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
