internal import CRDTCore
internal import MergeModel
internal import SyncProtocol

/// Moves, and what lies deep.
extension Expense {
    private static func move(_ object: Int, _ parent: Int?, _ position: [UInt8] = [128]) -> Edit {
        .move(self.object(object), Place(parent: parent.map { self.object($0) }, position: Position(bytes: position)))
    }

    /// A chain of objects, each below the one before it.
    private static func tower(_ height: Int, areMade: Bool = true) -> [Edit] {
        (0..<height).flatMap { number -> [Edit] in
            let creation: [Edit] = areMade ? [.create(self.object(number), type: "t", kind: "")] : []
            return creation + [self.move(number, number == 0 ? nil : number - 1)]
        }
    }

    private static func livingTower(_ member: CostlyMember) -> [Message] { self.runs(member, self.tower(8_000)) }

    private static func deadTower(_ member: CostlyMember) -> [Message] {
        self.runs(member, self.tower(20_000, areMade: false))
            + [member.run([Draft(edits: (0..<20_000).map { .delete(self.object($0)) })])]
    }

    private static func manyMoves(_ member: CostlyMember) -> [Message] {
        // A chain that was begun before them, for what comes late.
        let late = member.run([], on: 1)
        return [late, member.run([Draft(edits: (1...10_000).map { self.move($0, $0 / 2) }, millisecond: 5_000)])]
    }

    private static func lateMoves(_ member: CostlyMember) -> [Message] {
        (0..<100).map { number in
            let draft = Draft(edits: [self.move(20_000 + number, 7)], millisecond: 2_000 + UInt64(number))
            return member.run([draft], on: 1)
        }
    }

    /// A tower, and an object with another below it.
    private static func towerAndFolder(_ member: CostlyMember) -> [Message] {
        self.runs(member, self.tower(8_000) + [self.move(9_000, nil), self.move(9_001, 9_000)])
    }

    static var places: [Expense] {
        [
            Expense("move: 60,000 objects below one") { member in
                self.runs(member, (1...60_000).map { self.move($0, 0) })
            },
            Expense("move: 10,000 positions of 512 bytes") { member in
                let position = [UInt8](repeating: 122, count: Limits.positionByteCountMax)
                return self.runs(member, (1...10_000).map { self.move($0, 0, position) })
            },
            Expense("move: a tower of 8,000") { member in self.runs(member, self.tower(8_000)) },
            Expense("move: 8,000 within a tower of 8,000", after: self.livingTower) { member in
                let edits = (0..<8_000).map { _ in
                    let object = 1 + member.random.below(7_000)
                    return self.move(object, object + member.random.below(900))
                }
                return self.runs(member, edits)
            },
            Expense("move: one object 8,000 times to the foot of a tower of 8,000", after: self.towerAndFolder) {
                member in
                self.runs(member, (0..<8_000).map { _ in self.move(9_000, 7_999) })
            },
            Expense("move: one object by 100 runs to the foot of a tower of 8,000", after: self.towerAndFolder) {
                member in
                (0..<100).map { _ in member.run([Draft(edits: [self.move(9_000, 7_999)])]) }
            },
            Expense("move: 100 runs within a tower of 8,000", after: self.livingTower) { member in
                (0..<100).map { number in member.run([Draft(edits: [self.move(7_000 - number, 7_100 - number / 2)])]) }
            },
            Expense("move: 100 late runs before 10,000 others", after: self.manyMoves, self.lateMoves),
            Expense(
                "move: 100 late runs, each alone, before 10,000 others",
                dripped: true,
                after: self.manyMoves,
                self.lateMoves
            ),
            Expense("move: one object in each of 1,000 chains") { member in
                (0..<1_000).map { number in member.run([Draft(edits: [self.move(0, 1 + number)])], on: number) }
            },
            Expense("set: 100 changes below a tower of 20,000 that does not live", after: self.deadTower) { member in
                (0..<100).map { number in
                    let edit = number % 2 == 0 ? self.touch(19_999) : .delete(self.object(19_999))
                    return member.run([Draft(edits: [edit])])
                }
            },
        ]
    }
}
