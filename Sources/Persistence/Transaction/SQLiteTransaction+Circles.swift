import CRDTCore
import Engine

/// What the views have of circles: what shows otherwise than its circle alone says, and who may do what.
///
/// The program itself asks the overlay and the rights that it has in memory.
struct CircleRows {
    /// Where an object shows, or in whose place its values do; nowhere if nothing is said.
    fileprivate struct Shown: Equatable {
        var place: ObjectIndex?
        var beside: ObjectIndex?
        var rank: Int?
    }

    /// All that decides that.
    fileprivate struct Shape: Equatable {
        private let hidden: Set<ObjectIndex>
        private let placed: Set<ObjectIndex>
        private let besides: [ObjectIndex: CircleOverlay.Beside]

        init(_ overlay: CircleOverlay) {
            (self.hidden, self.placed, self.besides) = (overlay.hidden, overlay.placed, overlay.besides)
        }
    }

    /// Who may read what is in a circle, or also write it, or one property of it.
    fileprivate struct Access: Equatable {
        var circle: CircleIndex
        var scope: Scope
        var user: UserID
        var canWrite: Bool
        var property: String?
    }

    fileprivate enum Scope: Int64 {
        case all = 0
        case tops = 1
        case hidden = 2
    }

    /// What the database has; nil if it has not been read.
    fileprivate var shown: [ObjectIndex: Shown]?
    /// Of what it has that; nil if that is not known.
    fileprivate var shape: Shape?
    /// Of which rights and circles the database has who may do what; nil if that is not known.
    fileprivate var accessAge: AccessAge?

    fileprivate struct AccessAge: Equatable {
        var revision: Int
        var circleCount: Int
        var reader: CircleReader
        /// The circles that the user does not read any more.
        var ended: Set<Circle>
    }
}

extension SQLiteTransaction {
    /// Writes what has changed of that.
    ///
    /// - Complexity: O(*n* log *m*) for *n* objects that have changed, of *m*, and what shows otherwise by then;
    ///   nothing where there is but one circle.
    func writeCircles() throws(StoreError) {
        if self.circles.count > 1 { try self.writeShown() }
        try self.writeAccess()
    }

    private func writeShown() throws(StoreError) {
        var transaction = self
        let overlay = try transaction.currentOverlay()
        let shape = CircleRows.Shape(overlay)
        if self.circleRows.shape == shape { return }
        self.circleRows.shape = shape
        let base = self.circles.base
        var rows: [ObjectIndex: CircleRows.Shown] = [:]
        for object in overlay.hidden {
            let beside = overlay.besides[object]
            rows[object] = CircleRows.Shown(place: nil, beside: beside?.shown, rank: beside?.rank)
        }
        for object in overlay.placed {
            guard let place = try self.existingObjectIndex(of: self.object(object).id, in: base) else { continue }
            rows[object] = CircleRows.Shown(place: place, beside: nil, rank: nil)
        }
        var known = self.circleRows.shown
        if known == nil { known = try self.storedShown() }
        let former = known ?? [:]
        self.circleRows.shown = rows
        guard rows != former else { return }
        for (object, row) in rows.sorted(by: { $0.key.rawValue < $1.key.rawValue }) where former[object] != row {
            try self.statements[.putOverlay].run(object, row.place, row.beside, row.rank)
        }
        for object in former.keys.sorted(by: { $0.rawValue < $1.rawValue }) where rows[object] == nil {
            try self.statements[.deleteOverlay].run(object)
        }
    }

    private func storedShown() throws(StoreError) -> [ObjectIndex: CircleRows.Shown] {
        let statement = try self.statements[.overlayRows]
        defer { statement.reset() }
        var rows: [ObjectIndex: CircleRows.Shown] = [:]
        while try statement.step() {
            rows[statement.object(0)] = CircleRows.Shown(
                place: statement.isNull(1) ? nil : statement.object(1),
                beside: statement.isNull(2) ? nil : statement.object(2),
                rank: statement.isNull(3) ? nil : Int(statement.int64(3))
            )
        }
        return rows
    }

    private func writeAccess() throws(StoreError) {
        guard let reader = self.circles.reader, self.rights.isReady else { return }
        let age = CircleRows.AccessAge(
            revision: self.rights.revision,
            circleCount: self.circles.count,
            reader: reader,
            ended: self.circles.count > 1 ? try self.endedCircleSet() : []
        )
        guard self.circleRows.accessAge != age else { return }
        self.circleRows.accessAge = age
        let rows = self.access(for: reader, without: age.ended)
        guard try rows != self.storedAccess() else { return }
        try self.statements[.clearAccess].run()
        for row in rows {
            let scope = row.scope.rawValue
            try self.statements[.insertAccess].run(row.circle, scope, row.user.bytes, row.canWrite, row.property)
        }
    }

    /// In the order of circles; in each the owner comes first.
    ///
    /// `ended`: where the user has nothing any more, by the word of the owners' machines.
    private func access(for reader: CircleReader, without ended: Set<Circle>) -> [CircleRows.Access] {
        var rows: [CircleRows.Access] = []
        for number in 0..<UInt32(self.circles.count) {
            let index = CircleIndex(rawValue: number)
            let circle = self.circles[index]
            let owner = circle.owner(founder: reader.founder)
            let isAll = circle == .home || circle == .own(of: owner)
            // What somebody else has for himself is nothing that is read here.
            let isForeign = isAll && owner != reader.user
            guard circle != .roster, !isForeign, !self.rights.isUnseen(index) else { continue }
            let scope: CircleRows.Scope = circle.isBeside ? .hidden : isAll ? .all : .tops
            func add(_ user: UserID, canWrite: Bool, _ property: String? = nil) {
                let row = CircleRows.Access(
                    circle: index,
                    scope: scope,
                    user: user,
                    canWrite: canWrite,
                    property: property
                )
                rows.append(row)
            }
            add(owner, canWrite: true)
            for standing in self.rights.rights(in: index)?.standing ?? [] where standing.user != owner {
                if standing.user == reader.user, ended.contains(circle) { continue }
                add(standing.user, canWrite: standing.role <= .writer && standing.names == nil)
                for name in standing.names ?? [] { add(standing.user, canWrite: true, name) }
            }
        }
        return rows
    }

    private func endedCircleSet() throws(StoreError) -> Set<Circle> {
        var transaction = self
        return Set(try transaction.endedCircles().keys)
    }

    private func storedAccess() throws(StoreError) -> [CircleRows.Access] {
        let statement = try self.statements[.accessRows]
        defer { statement.reset() }
        var rows: [CircleRows.Access] = []
        while try statement.step() {
            guard let circle = UInt32(exactly: statement.int64(0)),
                let scope = CircleRows.Scope(rawValue: statement.int64(1)), let user = Bytes32(statement.bytes(2))
            else { continue }
            rows.append(
                CircleRows.Access(
                    circle: CircleIndex(rawValue: circle),
                    scope: scope,
                    user: UserID(bytes: user),
                    canWrite: statement.bool(3),
                    property: statement.isNull(4) ? nil : statement.text(4)
                )
            )
        }
        return rows
    }
}
