extension RandomAccessCollection {
    /// The first position from which on all elements fulfil a condition, where they are ordered by it.
    ///
    /// - Complexity: O(log *n*) questions.
    package func firstPosition<Failure: Error>(
        where condition: (Element) throws(Failure) -> Bool
    ) throws(Failure) -> Index {
        var (low, high) = (self.startIndex, self.endIndex)
        while low < high {
            let middle = self.index(low, offsetBy: self.distance(from: low, to: high) / 2)
            if try condition(self[middle]) { high = middle } else { low = self.index(after: middle) }
        }
        return low
    }
}
