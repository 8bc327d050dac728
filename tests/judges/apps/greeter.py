"""A Streamlit app: its page lives on one WebSocket; files come by uploads of their own."""

import streamlit as st

name = st.text_input("Name")
if st.button("Greet"):
    st.write(f"Hello {name}")
uploaded = st.file_uploader("File")
if uploaded is not None:
    st.write(f"{len(uploaded.getvalue())} bytes came")
