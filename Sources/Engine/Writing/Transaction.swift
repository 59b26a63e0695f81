package import CRDTCore

/// What a local caller wants done as one change: all of it or nothing.
package struct Transaction: Hashable, Sendable {
    package var steps: [Step]

    package init(_ steps: [Step] = []) {
        self.steps = steps
    }

    /// One step of a transaction.
    ///
    /// Later steps see what earlier ones did.
    package enum Step: Hashable, Sendable {
        /// Makes an object; its id is random, derived from a key, or given.
        case create(Creation)
        case set(ObjectID, name: String, value: Value)
        case unset(ObjectID, name: String)
        /// Puts an object under a parent (nil: the root), before a sibling or at the end.
        case move(ObjectID, parent: ObjectID?, before: ObjectID?)
        /// Deletes an object and all that is visible below it.
        case delete(ObjectID)
    }

    /// What to create.
    package struct Creation: Hashable, Sendable {
        package var id: Identity
        package var type: String
        package var kind: String
        package var parent: ObjectID?
        /// The circle that it is made in; nil for that of its parent.
        package var circle: Circle?
        package var properties: [ExactText: Value]
        /// What the object had before its deletion is removed, but for the properties of these names.
        package var keptNames: Set<ExactText>

        package init(
            id: Identity = .random,
            type: String,
            kind: String = "",
            parent: ObjectID? = nil,
            circle: Circle? = nil,
            properties: [ExactText: Value] = [:],
            keptNames: Set<ExactText> = []
        ) {
            self.id = id
            self.type = type
            self.kind = kind
            (self.parent, self.circle) = (parent, circle)
            self.properties = properties
            self.keptNames = keptNames
        }
    }

    /// Where a new object's id comes from.
    package enum Identity: Hashable, Sendable {
        case random
        /// Derived from the workspace, the user, the type and this key: two devices of one user that make the same
        /// thing apart make one.
        case key(String)
        case given(ObjectID)
    }
}
