package import CRDTCore
internal import PeerdKit

/// An operation in the history of an object.
package typealias HistoryEntryAnswer = Joined<LogEntryAnswer, HistoryMembers>

package struct HistoryMembers: Answer {
    package var moment: String
    /// What was in force before, as the author saw it.
    package var replaced: ActionAnswer?
    package var erasesPast: Bool
}

package struct HistoryPageAnswer: Answer {
    package var entries: [HistoryEntryAnswer]
    package var next: String?

    init(_ page: HistoryPage) {
        self.entries = page.entries.map { entry in
            let replaced = entry.replaced.map { ActionAnswer($0) }
            let moment = entry.moment.description
            let members = HistoryMembers(moment: moment, replaced: replaced, erasesPast: entry.erasesPast)
            return Joined(LogEntryAnswer(entry.entry), members)
        }
        self.next = page.next?.text
    }
}

/// An object that differs between two moments.
package struct DifferenceAnswer: Answer {
    package var id: String
    package var change: Word<Change>
    package var type: String
    package var kind: String
    package var properties: NamedValues<Values>
    package var moved: Parents?

    package enum Change: String, CaseIterable, Sendable {
        case created, deleted, changed
    }

    /// The values of a property on both sides; nil where it is not set.
    package struct Values: SparseAnswer {
        package var before: JSON?
        package var after: JSON?
    }

    package struct Parents: Answer {
        package var before: String?
        package var after: String?
    }

    init(_ difference: ObjectDifference) {
        let (before, after) = (difference.before, difference.after)
        self.id = difference.id.description
        self.change = before == nil ? Word(.created) : after == nil ? Word(.deleted) : Word(.changed)
        (self.type, self.kind) = (after?.type ?? before?.type ?? "", after?.kind ?? before?.kind ?? "")
        var properties: [ExactText: Values] = [:]
        for name in difference.changedProperties {
            let (before, after) = (before?.properties[name], after?.properties[name])
            properties[ExactText(name)] = Values(before: before?.json, after: after?.json)
        }
        self.properties = NamedValues(properties)
        guard difference.isMoved else { return }
        self.moved = Parents(before: before?.parent?.description, after: after?.parent?.description)
    }
}

struct DifferenceList: Answer {
    var objects: [DifferenceAnswer]
}

/// What came back of an object.
package struct RestorationAnswer: Answer {
    package var object: String
    package var objectCount: Int
    package var revivedCount: Int
    package var staysInPlace: Bool
}

/// Actions that were taken back, or done again.
package struct UndoAnswer: Answer {
    package var actions: [UndoneAnswer]
}

package struct UndoneAnswer: Answer {
    package var moment: String
    package var timeMs: Int64
    package var deviceName: String?
    package var program: String
    package var transactionCount: Int
    package var edits: [Edit]
    package var editCount: Int
    package var kept: [Kept]
    package var keptCount: Int
    package var hasEffect: Bool
    package var isMerge: Bool
    /// Transactions of it that are left, since something else was done meanwhile.
    package var leftCount: Int

    package struct Edit: Answer {
        package var object: String?
        package var action: ActionAnswer
        /// Whether it is an undo of the edit that is taken back, or done again.
        package var isUndo: Bool
    }

    /// What stays as it is.
    package struct Kept: Answer {
        package var object: String
        package var part: Word<Part>
        package var property: String?
        package var reason: Word<Reason>
        package var author: AuthorAnswer?
    }

    package enum Part: String, CaseIterable, Sendable {
        case object, property, place
    }

    package enum Reason: String, CaseIterable, Sendable {
        case edited, deleted, unknown
        case hasChildren = "has-children"
        case parentGone = "parent-gone"
        case tooLarge = "too-large"
    }

    init(_ reversed: UndoneAction) {
        (self.moment, self.timeMs) = (reversed.moment.description, reversed.date.millisecondsSince1970)
        (self.deviceName, self.hasEffect) = (reversed.author, reversed.hasEffect)
        (self.program, self.isMerge) = (reversed.program, reversed.isMerge)
        (self.transactionCount, self.leftCount) = (reversed.transactionCount, reversed.leftCount)
        (self.editCount, self.keptCount) = (reversed.editCount, reversed.keptCount)
        self.edits = reversed.edits.map {
            Edit(object: $0.object?.description, action: ActionAnswer($0.action), isUndo: $0.isUndo)
        }
        self.kept = reversed.kept.map { Kept($0) }
    }
}

extension UndoneAnswer.Kept {
    fileprivate init(_ kept: UndoneAction.Kept) {
        self.object = kept.object.description
        switch kept.part {
        case .object: self.part = Word(.object)
        case .place: self.part = Word(.place)
        case .property(let name): (self.part, self.property) = (Word(.property), name)
        }
        self.reason =
            switch kept.reason {
            case .edited: Word(.edited)
            case .deleted: Word(.deleted)
            case .hasChildren: Word(.hasChildren)
            case .parentGone: Word(.parentGone)
            case .unknown: Word(.unknown)
            case .tooLarge: Word(.tooLarge)
            }
        self.author = kept.author.map { AuthorAnswer($0) }
    }
}

struct MomentAnswer: Answer {
    var moment: String
}
