/// The hierarchy as far as somebody has asked for it, such that it takes a logarithmic time to say what is above what
/// however deep it is, and to move what is in it.
///
/// A link/cut tree (D. D. Sleator, R. E. Tarjan, "A Data Structure for Dynamic Trees", 1983, with the splay trees of
/// "Self-Adjusting Binary Search Trees", 1985): each tree is cut into paths, and each path is a splay tree ordered by
/// depth. All times are amortised.
struct AncestorForest {
    private struct Node {
        /// In the splay tree of the node's path; for the root of a splay tree, what is above the path.
        var above: Int32 = -1
        /// What is nearer to the root of the hierarchy on the same path, and what is farther.
        var nearer: Int32 = -1
        var farther: Int32 = -1
    }

    private var numbers = IndexTable()
    private var nodes: [Node] = []

    func contains(_ object: ObjectIndex) -> Bool { self.number(of: object) != nil }

    private func number(of object: ObjectIndex) -> Int32? {
        self.numbers.position(of: UInt64(object.rawValue)).map { Int32($0) }
    }

    /// Enters an object that stands below nothing.
    mutating func enter(_ object: ObjectIndex) {
        let number = self.numbers.insert(UInt64(object.rawValue))
        if number == self.nodes.count { self.nodes.append(Node()) }
    }

    /// Puts an object, with all below it, under another, or under none.
    ///
    /// Both have been entered, and the parent is not below the object.
    mutating func place(_ object: ObjectIndex, under parent: ObjectIndex?) {
        guard let node = self.number(of: object) else { return }
        self.expose(node)
        let former = self.nodes[Int(node)].nearer
        if former >= 0 {
            self.nodes[Int(former)].above = -1
            self.nodes[Int(node)].nearer = -1
        }
        if let parent, let number = self.number(of: parent) { self.nodes[Int(node)].above = number }
    }

    /// Whether an object is above another, or the same.
    mutating func isAbove(_ object: ObjectIndex, _ other: ObjectIndex) -> Bool {
        guard let high = self.number(of: object), let low = self.number(of: other) else { return object == other }
        if high == low { return true }
        // The path from the root to `low` is one splay tree now. `high` is on it if nothing of it is outside.
        self.expose(low)
        self.splay(high)
        var top = low
        while !self.isPathRoot(top) { top = self.nodes[Int(top)].above }
        return top == high
    }

    // MARK: - Paths

    /// Makes the way from the root to a node one path that ends there, and the node the root of its splay tree.
    private mutating func expose(_ node: Int32) {
        var last: Int32 = -1
        var current = node
        while current >= 0 {
            self.splay(current)
            self.nodes[Int(current)].farther = last
            if last >= 0 { self.nodes[Int(last)].above = current }
            last = current
            current = self.nodes[Int(current)].above
        }
        self.splay(node)
    }

    private func isPathRoot(_ node: Int32) -> Bool {
        let above = self.nodes[Int(node)].above
        return above < 0 || (self.nodes[Int(above)].nearer != node && self.nodes[Int(above)].farther != node)
    }

    private mutating func splay(_ node: Int32) {
        while !self.isPathRoot(node) {
            let parent = self.nodes[Int(node)].above
            if !self.isPathRoot(parent) {
                let grandparent = self.nodes[Int(parent)].above
                let isStraight =
                    (self.nodes[Int(parent)].nearer == node) == (self.nodes[Int(grandparent)].nearer == parent)
                self.rotate(isStraight ? parent : node)
            }
            self.rotate(node)
        }
    }

    /// Takes a node's place in its splay tree one higher.
    private mutating func rotate(_ node: Int32) {
        let parent = self.nodes[Int(node)].above
        let grandparent = self.nodes[Int(parent)].above
        if !self.isPathRoot(parent) {
            if self.nodes[Int(grandparent)].nearer == parent {
                self.nodes[Int(grandparent)].nearer = node
            } else {
                self.nodes[Int(grandparent)].farther = node
            }
        }
        let moved: Int32
        if self.nodes[Int(parent)].nearer == node {
            moved = self.nodes[Int(node)].farther
            self.nodes[Int(parent)].nearer = moved
            self.nodes[Int(node)].farther = parent
        } else {
            moved = self.nodes[Int(node)].nearer
            self.nodes[Int(parent)].farther = moved
            self.nodes[Int(node)].nearer = parent
        }
        if moved >= 0 { self.nodes[Int(moved)].above = parent }
        self.nodes[Int(parent)].above = node
        self.nodes[Int(node)].above = grandparent
    }
}
